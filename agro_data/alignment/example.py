"""A pair of question and SQL as a checker sees it: the question, and the databases on which answers are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agro_data.databases.discovery.content import instance_at
from agro_data.databases.types import Database
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialising.linking import SchemaIndex, index_schema
from agro_data.profiling.serialising.serialise import fit_schema
from agro_data.protocol import ENGINES
from agro_data.sql.names.scope import Schema
from agro_data.verify.golds import Case
from agro_data.verify.ordering import orders


@dataclass(frozen=True)
class Example:
    """`sql` is right where it is right on `database` and on all `instances`. `shown` is the schema as a model reads it,
    `meaning` what the SQL does in words. `evidence` is "" where there is none.
    """

    example_id: str
    question: str
    sql: str
    database: Database
    shown: str
    schema: Schema
    instances: tuple[Database, ...] = ()
    evidence: str = ""
    hardness: str = ""
    style: str = ""
    meaning: str = ""
    ordered: bool | None = None  # None: iff the SQL orders at top level
    alternatives: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[Database, ...]:
        """The databases on which answers are compared with it, its own first."""
        return (self.database, *self.instances)

    @property
    def engine(self) -> str:
        """The name of the SQL dialect, for prompts."""
        return ENGINES[self.database.dialect]

    @property
    def in_order(self) -> bool:
        """Whether the order of rows is part of the answer."""
        return orders(self.sql, self.database.dialect) if self.ordered is None else self.ordered

    def case(self, predicted: str) -> Case:
        """The case that compares an answer with it."""
        return Case(self.sql, predicted, self.places, self.ordered, self.alternatives, self.schema)


@dataclass(frozen=True)
class Home:
    """The facts that all examples of one database share."""

    database: Database
    profile: DatabaseProfile
    index: SchemaIndex
    instances: Mapping[str, Database]  # by `<db_id>/<file>`

    @classmethod
    def of(cls, database: Database, profile: DatabaseProfile, folder: Path, names: Sequence[str]) -> Home:
        """`folder` holds the instances `names`. Raises `OSError` when one of them is not there."""
        found = {name: instance_at(database, folder / name) for name in sorted(set(names))}
        return cls(database, profile, index_schema(profile), found)

    def example(self, row: Mapping[str, Any]) -> Example:
        """The example of a row of `records.EXAMPLE`."""
        links = self.index.link(row["question"], row["evidence"])
        return Example(
            example_id=row["example_id"],
            question=row["question"],
            sql=row["sql"],
            database=self.database,
            shown=fit_schema(self.profile, links=links).text,
            schema=self.profile.schema,
            instances=tuple(self.instances[name] for name in row["instances"]),
            evidence=row["evidence"] or "",
            hardness=row["hardness"],
            style=row["style"],
            meaning="\n".join(step["intent"] for step in row["steps"]),
            ordered=row["order_matters"],
            alternatives=tuple(row["alternatives"]),
        )
