"""In which order to fill tables: parents before children, cycles opened where it hurts least.

Structural-aware synthesis of AGRO-SQL (arXiv 2512.23366) generates along the foreign-key graph; that a cycle is
collapsed into one component and opened inside is our decision (METHODS 1.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agro_data.populate.schema import Schema
from agro_data.profiling.profile import ForeignKey


@dataclass(frozen=True)
class FillOrder:
    """`tables` parents first. `deferred` keys are filled once every table has rows (cycles), `own` keys refer to
    their own table, `broken` ones cannot be kept because a key column would have to wait for a later table."""

    tables: tuple[str, ...]
    own: tuple[ForeignKey, ...] = ()
    deferred: tuple[ForeignKey, ...] = ()
    broken: tuple[ForeignKey, ...] = ()


def components(nodes: Sequence[str], parents: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Strongly connected components of the graph child -> parent, parents first (Tarjan, without recursion).

    Members of a component keep the order of `nodes`; equal input gives equal output.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[tuple[str, ...]] = []
    position = {node: i for i, node in enumerate(nodes)}
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(parents.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, rest = work[-1]
            child = next(rest, None)
            if child is not None:
                if child not in index:
                    index[child] = low[child] = len(index)
                    stack.append(child)
                    work.append((child, iter(parents.get(child, ()))))
                elif child in stack:
                    low[node] = min(low[node], index[child])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                cut = stack.index(node)
                found.append(tuple(sorted(stack[cut:], key=position.__getitem__)))
                del stack[cut:]
    return found


def fill_order(schema: Schema) -> FillOrder:
    """Order of all tables of `schema`, and what becomes of the keys that no order can satisfy."""
    names = [table.name for table in schema.tables]
    own = [k for k in schema.foreign_keys if k.table == k.ref_table]
    others = [k for k in schema.foreign_keys if k.table != k.ref_table]
    parents = {name: [k.ref_table for k in others if k.table == name] for name in names}
    ordered: list[str] = []
    for component in components(names, parents):
        ordered.extend(_open(component, others, schema))
    rank = {name: i for i, name in enumerate(ordered)}
    late = [k for k in others if rank[k.ref_table] > rank[k.table]]
    broken = tuple(k for k in (*late, *own) if _in_key(k, schema))
    kept = [tuple(k for k in keys if k not in broken) for keys in (own, late)]
    return FillOrder(tuple(ordered), own=kept[0], deferred=kept[1], broken=broken)


def _open(component: tuple[str, ...], keys: Sequence[ForeignKey], schema: Schema) -> list[str]:
    """Order within one cycle: next comes the table whose keys can best wait, ties in declared order."""
    waiting = list(component)
    ordered: list[str] = []

    def cost(table: str) -> int:
        ahead = [k for k in keys if k.table == table and k.ref_table in waiting]
        return sum(_waiting_cost(k, schema) for k in ahead)

    while waiting:
        best = min(waiting, key=cost)
        waiting.remove(best)
        ordered.append(best)
    return ordered


def _waiting_cost(key: ForeignKey, schema: Schema) -> int:
    if _in_key(key, schema):
        return 10_000
    columns = schema.by_name[key.table].by_name
    return 1 if any(columns[c].nullable for c in key.columns) else 100


def _in_key(key: ForeignKey, schema: Schema) -> bool:
    table = schema.by_name[key.table]
    return any(column in unique for unique in table.keys for column in key.columns)
