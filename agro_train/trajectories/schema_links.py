"""Schema linking, written down: the tables and columns that a query reads, as the prompt spells them.

An agent that says them before it writes the query copies names from the schema, instead of writing likely ones, and
has chosen its tables before it must name their columns (schema linking: RSL-SQL, 2411.00073, and others before it).
Columns before their table were tried, and no gain was seen (docs/experiments.md, E11).
"""

from __future__ import annotations

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.identifiers import spelled
from agro_data.sql.names.resolution import Resolution


def schema_links(names: Resolution, profile: DatabaseProfile) -> str:
    """`singer( Name, Age), concert( Year)`: tables as they come up in the query, columns as they stand in the schema.

    "" for a query that reads no table.
    """
    return ", ".join(_table(table, names, profile) for table in _in_order(names))


def _in_order(names: Resolution) -> list[str]:
    spelling = {folded(table): table for table in names.tables}
    met = (spelling.get(folded(node.name)) for node in names.tree.find_all(exp.Table, bfs=False))
    return list(dict.fromkeys(table for table in met if table))


def _table(table: str, names: Resolution, profile: DatabaseProfile) -> str:
    columns = [column.name for column in profile.table(table).columns if (table, column.name) in names.columns]
    listed = ", ".join(spelled(column) for column in columns)
    return spelled(table) + (f"( {listed})" if columns else "")
