"""All that selection and reporting need to know of one query, from one pass of parsing and resolving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from agro_data.databases.types import Dialect
from agro_data.sql.constructs import constructs_of
from agro_data.sql.difficulty import Complexity, Hardness, complexity_of, hardness_of
from agro_data.sql.forms.canonical import canonical_sql, skeleton_of, template_of
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import parse_select


@dataclass(frozen=True)
class SqlFacts:
    """`tables` and `columns` ("table.column") are real ones in the schema's spelling, sorted.

    `constructs` come from `agro_data.sql.constructs.CONSTRUCTS`, in its order.
    """

    tables: tuple[str, ...]
    columns: tuple[str, ...]
    constructs: tuple[str, ...]
    canonical: str
    skeleton: str  # canonical, literals masked
    template: str  # skeleton, names masked too
    order_matters: bool  # ORDER BY at top level
    hardness: Hardness
    complexity: Complexity

    @property
    def tie_policy(self) -> str:
        """The tie policy of SQL without an intent, once it is checked for ties: rows that it orders or cuts off have
        none.
        """
        return "total_order" if self.order_matters or "limit" in self.constructs else "none"

    def stored(self) -> dict[str, Any]:
        """What a row of a version says of its SQL, but for the order: columns of `records.EXAMPLE`."""
        return {
            "skeleton": self.skeleton,
            "hardness": self.hardness,
            "complexity": self.complexity,
            "constructs": list(self.constructs),
            "tables": list(self.tables),
            "columns": list(self.columns),
        }


def sql_facts(sql: str | exp.Query, dialect: Dialect, schema: Schema) -> SqlFacts:
    """Facts of one SELECT. Names that `schema` lacks are left out of `tables` and `columns`, without an error.

    Pass the tree, if there is one, to save the parsing; it is not changed. Raises `SqlRefused` if text is no query.
    """
    tree = parse_select(sql, dialect) if isinstance(sql, str) else sql.copy()
    return facts_of(resolve(tree, dialect, schema), dialect)


def facts_of(found: Resolution, dialect: Dialect) -> SqlFacts:
    """Facts of a query whose names are resolved. Consumes the tree: canonical names are written into it."""
    tree = found.tree
    constructs = constructs_of(found)
    hardness, complexity = hardness_of(tree), complexity_of(tree)
    order_matters = found.ordered
    canonical = canonical_sql(found, dialect)
    skeleton = skeleton_of(canonical)
    return SqlFacts(
        tables=tuple(sorted(found.tables)),
        columns=tuple(sorted(f"{table}.{column}" for table, column in found.columns)),
        constructs=constructs,
        canonical=canonical,
        skeleton=skeleton,
        template=template_of(skeleton),
        order_matters=order_matters,
        hardness=hardness,
        complexity=complexity,
    )
