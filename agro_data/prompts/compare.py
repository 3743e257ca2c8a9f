"""The prompt that has two queries for one question compared: one match of a tournament."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from agro_data.llm.prompt import Prompt, Unparsed, json_object

Better = Literal["first", "second", "neither"]
LONGEST = 2_000  # characters of a reason

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"better": {"enum": list(get_args(Better))}, "reason": {"type": "string"}},
    "required": ["better", "reason"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class TwoQueries:
    """Queries and results in the order in which they are shown."""

    schema: str
    question: str
    first: str
    first_result: str
    second: str
    second_result: str
    evidence: str = ""
    dialect: str = "SQLite"


@dataclass(frozen=True)
class Preference:
    """Which of the two, and why."""

    better: Better
    reason: str


def parse_preference(text: str) -> Preference | Unparsed:
    """The preference of a reply. Never raises. Classes: `empty`, `no_json`, `unwritable`, `not_schema`, `too_long`."""
    found = json_object(text)
    if isinstance(found, Unparsed):
        return found
    better, reason = found.get("better"), found.get("reason")
    if better not in get_args(Better) or not isinstance(reason, str):
        return Unparsed(
            "not_schema", f"expected better (first, second, neither) and a reason: {json.dumps(found)[:100]}"
        )
    if len(reason) > LONGEST:
        return Unparsed("too_long", f"the reason has more than {LONGEST} characters")
    return Preference(cast(Better, better), " ".join(reason.split()))


COMPARE = Prompt(Path(__file__).with_name("compare.md"), TwoQueries, parse_preference, SCHEMA)
