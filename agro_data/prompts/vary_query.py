"""The prompt that has a query changed in one of six ways (Text2SQL-Flow, arXiv 2511.10192)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from agro_data.llm.prompt import Prompt
from agro_data.prompts.solution import parse_solution

Kind = Literal["values", "structure", "logic", "complexity", "advanced", "performance"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class VariationWanted:
    """`sql` is a query with question marks for its values."""

    schema: str
    sql: str
    kind: Kind
    dialect: str = "SQLite"


VARY_QUERY = Prompt(Path(__file__).with_name("vary_query.md"), VariationWanted, parse_solution)
