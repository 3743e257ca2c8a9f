"""What a schema cannot say: descriptions, synonyms, codes, metrics, joins, and what is hidden.

`Semantics` is the common form of every source of such knowledge: a `semantics.yml` (`semantics`), a Spider
`tables.json`, BIRD description CSVs, a dbt `manifest.json` (`imports`). Sources are merged, the surest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import sqlglot
from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.profiling.profile import Metric, Role

TableKind = Literal["entity", "event", "bridge", "lookup"]


@dataclass(frozen=True)
class ColumnSemantics:
    """Knowledge of one column. `name` is said as it is; `words` still go through the naming rules."""

    name: str = ""
    words: str = ""
    description: str = ""
    synonyms: tuple[str, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()  # (value as text, meaning)
    unit: str = ""
    role: Role | None = None
    hidden: bool | None = None  # False: a person wants it asked about, whatever it holds


@dataclass(frozen=True)
class TableSemantics:
    """Knowledge of one table and of its columns, by their names in the database."""

    name: str = ""
    plural: str = ""
    words: str = ""
    description: str = ""
    synonyms: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    kind: TableKind | None = None
    hidden: bool = False
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    described: bool = False  # by people who want it asked about: in semantics.yml or dbt
    columns: Mapping[str, ColumnSemantics] = field(default_factory=dict)


@dataclass(frozen=True)
class JoinSemantics:
    """A reference that somebody states. `avoid` says that it is none, whatever names and values suggest."""

    table: str
    columns: tuple[str, ...]
    ref_table: str
    ref_columns: tuple[str, ...]
    verb: str = ""
    avoid: bool = False
    confidence: float = 1.0

    @property
    def ends(self) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
        return self.table, self.columns, self.ref_table, self.ref_columns


@dataclass(frozen=True)
class Semantics:
    """All that is known of one database besides its schema and values. Every name in it exists."""

    domain: str = ""
    tables: Mapping[str, TableSemantics] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()
    joins: tuple[JoinSemantics, ...] = ()
    prior: tuple[tuple[str, float], ...] = ()
    problems: tuple[str, ...] = ()

    def table(self, name: str) -> TableSemantics:
        return self.tables.get(name, _NO_TABLE)

    def column(self, table: str, name: str) -> ColumnSemantics:
        return self.table(table).columns.get(name, _NO_COLUMN)


_NO_TABLE = TableSemantics()
_NO_COLUMN = ColumnSemantics()


def merge(sources: list[Semantics]) -> Semantics:
    """One `Semantics` of several; of two sources that both say something, the earlier one counts."""
    result = Semantics()
    for source in sources:
        result = _merge_two(result, source)
    return result


def _merge_two(first: Semantics, second: Semantics) -> Semantics:
    stated = {join.ends for join in first.joins}
    named = {metric.name for metric in first.metrics}
    return Semantics(
        domain=first.domain or second.domain,
        tables={
            name: _merge_tables(first.table(name), second.table(name))
            for name in [*first.tables, *(name for name in second.tables if name not in first.tables)]
        },
        metrics=(*first.metrics, *(metric for metric in second.metrics if metric.name not in named)),
        joins=(*first.joins, *(join for join in second.joins if join.ends not in stated)),
        prior=first.prior or second.prior,
        problems=(*first.problems, *second.problems),
    )


def _merge_tables(first: TableSemantics, second: TableSemantics) -> TableSemantics:
    names = [*first.columns, *(name for name in second.columns if name not in first.columns)]
    return replace(
        first,
        name=first.name or second.name,
        plural=first.plural or second.plural,
        words=first.words or second.words,
        description=first.description or second.description,
        synonyms=tuple(dict.fromkeys((*first.synonyms, *second.synonyms))),
        label=first.label or second.label,
        kind=first.kind or second.kind,
        hidden=first.hidden or second.hidden,
        primary_key=first.primary_key or second.primary_key,
        unique_keys=tuple(dict.fromkeys((*first.unique_keys, *second.unique_keys))),
        described=first.described or second.described,
        columns={
            name: _merge_columns(first.columns.get(name, _NO_COLUMN), second.columns.get(name, _NO_COLUMN))
            for name in names
        },
    )


def _merge_columns(first: ColumnSemantics, second: ColumnSemantics) -> ColumnSemantics:
    return ColumnSemantics(
        name=first.name or second.name,
        words=first.words or second.words,
        description=first.description or second.description,
        synonyms=tuple(dict.fromkeys((*first.synonyms, *second.synonyms))),
        codes=first.codes or second.codes,
        unit=first.unit or second.unit,
        role=first.role or second.role,
        hidden=second.hidden if first.hidden is None else first.hidden,
    )


def without_values(known: Semantics, dialect: Dialect) -> Semantics:
    """`known` without what may quote a value: codes, descriptions, metrics that compare with a literal, problems.

    Names, synonyms, roles, labels, joins and formulas with their definitions stay: they speak of the schema.
    """
    faults = len(known.problems)
    told = f"{faults} entries of the files beside it cannot be used; `agro databases` says which"
    return replace(
        known,
        tables={
            name: replace(
                table,
                description="",
                columns={at: replace(column, description="", codes=()) for at, column in table.columns.items()},
            )
            for name, table in known.tables.items()
        },
        metrics=tuple(metric for metric in known.metrics if not _quotes_value(metric.sql, dialect)),
        problems=(told,) if faults else (),
    )


def _quotes_value(sql: str, dialect: Dialect) -> bool:
    """Whether a metric's SQL has a text in it, or a number beside something other than arithmetic."""
    literals = sqlglot.parse_one(f"SELECT {sql}", read=dialect).find_all(exp.Literal)
    return any(
        literal.is_string
        or not isinstance(literal.parent, exp.Binary | exp.Neg)
        or isinstance(literal.parent, exp.Predicate)
        for literal in literals
    )
