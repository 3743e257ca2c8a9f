"""The prompt that has a query written for a part of a database, at a given complexity."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agro_data.llm.prompt import Prompt
from agro_data.prompts.solution import parse_solution
from agro_data.sql.difficulty import Complexity


@dataclass(frozen=True)
class QueryWanted:
    """`schema` is text of a part of a database, `column` the "table.column" that the query must use, `outputs` how many
    columns it returns.
    """

    schema: str
    column: str
    outputs: int
    complexity: Complexity
    dialect: str = "SQLite"


WRITE_QUERY = Prompt(Path(__file__).with_name("write_query.md"), QueryWanted, parse_solution)
