"""Which candidates for keys the rows bear out, and how many rows refer to nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from agro_data.databases.errors import DatabaseError
from agro_data.databases.quoting import quoted
from agro_data.databases.schema.table_info import Connection
from agro_data.databases.types import Cell
from agro_data.profiling.columns.statistics import rounded
from agro_data.profiling.keys.candidates import Candidates
from agro_data.profiling.keys.foreign_keys import Containment, Proposal, infer
from agro_data.profiling.keys.trees import is_tree
from agro_data.profiling.profile import ForeignKey
from agro_data.profiling.reading import Group, TableRead, Tuples

_ASKED = 200  # child values that are looked up in a parent too large to hold


def settled_keys(connection: Connection, reads: Mapping[str, TableRead], candidates: Candidates) -> list[ForeignKey]:
    """Declared keys, then stated ones, then inferred ones, each with its share of orphans."""
    contain = partial(_containment, connection, reads)
    kept: list[ForeignKey] = []
    for key in candidates.known:
        if key.table not in reads or key.ref_table not in reads:
            continue
        values = contain(key.table, key.columns, key.ref_table, key.ref_columns)
        # A schema file that values contradict is no evidence; what a person states in semantics.yml stands.
        if key.declared or key.confidence == 1.0 or (values.orphan_share <= 0.5 and _has_key(reads, key)):
            kept.append(replace(key, orphan_share=rounded(values.orphan_share)))
    possible = [
        proposal
        for proposal in candidates.proposals
        if proposal.table in reads and proposal.ref_table in reads and _is_key(reads, proposal)
    ]
    kinds = {(name, column): s.kind for name, read in reads.items() for column, s in read.statistics.items()}
    linked = {(key.table, key.columns) for key in kept}
    inferred = infer(possible, kinds, lambda p: contain(p.table, (p.column,), p.ref_table, (p.ref_column,)))
    found = kept + [key for key in inferred if (key.table, key.columns) not in linked]
    return [replace(key, tree=True) if is_tree(connection, key, reads[key.table]) else key for key in found]


def _has_key(reads: Mapping[str, TableRead], key: ForeignKey) -> bool:
    """Whether the parent's columns are a key, as declared or in the data."""
    held = reads[key.ref_table].groups[key.ref_columns]
    return not held or max(held.values()) == 1


def _is_key(reads: Mapping[str, TableRead], proposal: Proposal) -> bool:
    """Whether the parent column really is a key: declared as one, or without a double in the data.

    Where only values speak for the reference, each row has one, text or number, and the child is no key itself.
    """
    parent = reads[proposal.ref_table]
    column = (proposal.ref_column,)
    statistics = parent.statistics[proposal.ref_column]
    if proposal.by_values:
        child = reads[proposal.table].statistics[proposal.column]
        whole = statistics.unique and not statistics.nulls and not parent.sampled
        return whole and statistics.kind in ("text", "integer") and not child.unique
    return column in (parent.info.primary_key, *parent.info.unique_keys) or statistics.unique or not statistics.rows


def _containment(
    connection: Connection,
    reads: Mapping[str, TableRead],
    table: str,
    columns: Group,
    ref_table: str,
    ref_columns: Group,
) -> Containment:
    child = reads[table].groups[columns]
    parent = reads[ref_table]
    held: frozenset[tuple[Cell, ...]] | Tuples = parent.groups[ref_columns]
    if parent.sampled:
        child, held = _looked_up(connection, child, ref_table, ref_columns)
    missing = {key: count for key, count in child.items() if key not in held}
    share = sum(missing.values()) / child.total() if child else 0.0
    return Containment(len(child), share, len(child) - len(missing))


def _looked_up(
    connection: Connection, child: Tuples, ref_table: str, ref_columns: Group
) -> tuple[Tuples, frozenset[tuple[Cell, ...]]]:
    """Some of the child's values, and which of them the parent has, by a query to the engine."""
    if len(ref_columns) > 1:
        return Counter(), frozenset()
    asked: Tuples = Counter(dict(child.most_common(_ASKED)))
    if not asked:
        return asked, frozenset()
    column = quoted(ref_columns[0])
    marks = ", ".join("?" * len(asked))
    sql = f"SELECT DISTINCT {column} FROM {quoted(ref_table)} WHERE {column} IN ({marks})"
    try:
        return asked, frozenset(connection.execute(sql, [key[0] for key in asked]))
    except DatabaseError as error:  # DuckDB converts them to the column's type, and may not be able to
        where = f"{ref_table}.{ref_columns[0]}"
        connection.problems.append(f"column {where!r}: taken to hold no value of a column that refers to it: {error}")
        return asked, frozenset()
