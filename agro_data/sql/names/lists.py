"""Whether an expression of DuckDB is known to be no struct: in a SELECT, UNNEST makes columns of one."""

from __future__ import annotations

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.sql.names.resolution import Binding, Resolution
from agro_data.sql.names.scope import Schema
from agro_data.sql.walks import leftmost

# JSON access gives JSON or text, or a list of them.
_LISTS = (
    exp.Array, exp.ArrayAgg, exp.Split, exp.RegexpSplit, exp.RegexpExtractAll, exp.GenerateSeries, exp.ArrayDistinct,
    exp.ArraySort, exp.ArrayConcat, exp.ArrayAppend, exp.ArrayPrepend, exp.ArraySlice, exp.ArrayFilter, exp.Transform,
    exp.MapKeys, exp.Flatten, exp.JSONKeys, exp.JSONExtract, exp.JSONExtractScalar,
)  # fmt: skip
_LIST_NAMES = frozenset({
    "regexp_split_to_array", "list_value", "list_pack", "array_value", "list_slice", "list_reverse", "list_intersect",
    "list_zip", "list_where", "list_select", "list_resize", "list_grade_up", "list_unique", "map_values",
    "map_entries", "generate_subscripts",
})  # fmt: skip
_STRUCTS = ("STRUCT", "ROW")  # how the types begin that UNNEST makes columns of
DEEPEST = 8  # aliases and derived tables that a value is followed through


def is_list(node: exp.Expr, found: Resolution, schema: Schema, depth: int = 0) -> bool:
    """Whether a value is known to be a list, or else something that UNNEST refuses."""
    node = node.unnest()
    if depth > DEEPEST:
        return False
    if isinstance(node, exp.Column):
        return _is_list_column(found.binding(node), found, schema, depth)
    if isinstance(node, exp.Cast):
        kind = node.to.sql(dialect="duckdb").upper()
        return kind.endswith("]") or not kind.startswith(_STRUCTS)
    if isinstance(node, exp.Bracket):
        return isinstance(node.expressions[0], exp.Slice) and is_list(node.this, found, schema, depth + 1)
    return isinstance(node, _LISTS) or (isinstance(node, exp.Anonymous) and node.name.lower() in _LIST_NAMES)


def _is_list_column(binding: Binding | None, found: Resolution, schema: Schema, depth: int) -> bool:
    if binding is not None and binding.expression is not None:
        return is_list(binding.expression, found, schema, depth + 1)
    source = binding.source if binding is not None else None
    if binding is None or source is None:
        return False
    if source.table:
        declared = schema[source.table][source.columns[binding.name]].upper()
        return declared.endswith("]") or not declared.startswith(_STRUCTS)
    query: exp.Expr | None = source.node if isinstance(source.node, exp.Subquery) else None
    if isinstance(source.node, exp.Table):
        name = folded(source.node.name)
        query = next((cte.this for cte in found.tree.find_all(exp.CTE) if folded(cte.alias) == name), None)
    items = leftmost(query).expressions if query is not None else []
    if len(items) != len(source.columns) or any(item.is_star for item in items):
        return False
    return is_list(items[list(source.columns).index(binding.name)].unalias(), found, schema, depth + 1)
