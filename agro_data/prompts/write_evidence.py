"""The prompt that has evidence written: what one must know beside a question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agro_data.llm.prompt import Prompt, Unparsed, json_object

LONGEST = 1_000  # characters

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"evidence": {"type": ["string", "null"]}},
    "required": ["evidence"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class EvidenceWanted:
    """`wrong` is the evidence that was found false, with `why`; both empty where there was none."""

    schema: str
    question: str
    sql: str
    wrong: str = ""
    why: str = ""
    dialect: str = "SQLite"


@dataclass(frozen=True)
class WrittenEvidence:
    """The knowledge that the question needs; "" if it needs none."""

    evidence: str


def parse_evidence(text: str) -> WrittenEvidence | Unparsed:
    """The evidence of a reply. Never raises. Classes: `empty`, `no_json`, `unwritable`, `not_schema`, `too_long`."""
    found = json_object(text)
    if isinstance(found, Unparsed):
        return found
    evidence = found.get("evidence")
    if "evidence" not in found or not (evidence is None or isinstance(evidence, str)):
        return Unparsed("not_schema", f"expected evidence as text or null, got {json.dumps(found)[:100]}")
    if len(evidence or "") > LONGEST:
        return Unparsed("too_long", f"the evidence has more than {LONGEST} characters")
    return WrittenEvidence(" ".join((evidence or "").split()))


WRITE_EVIDENCE = Prompt(Path(__file__).with_name("write_evidence.md"), EvidenceWanted, parse_evidence, SCHEMA)
