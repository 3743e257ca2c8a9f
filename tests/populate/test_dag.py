"""Order of filling: parents first, cycles opened where a key may wait."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agro_data.populate.dag import components, fill_order
from agro_data.populate.schema import read_ddl

GRAPHS = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20).map(lambda e: (n, e))
)


def reachable(start: str, parents: dict[str, list[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        for parent in parents[todo.pop()]:
            if parent not in seen:
                seen.add(parent)
                todo.append(parent)
    return seen


@settings(max_examples=150, deadline=None)
@given(GRAPHS)
def test_components_are_the_mutually_reachable_tables_and_come_parents_first(graph):
    size, edges = graph
    nodes = [f"t{i}" for i in range(size)]
    parents = {node: [f"t{b}" for a, b in edges if f"t{a}" == node] for node in nodes}
    found = components(nodes, parents)
    assert sorted(node for group in found for node in group) == nodes
    place = {node: i for i, group in enumerate(found) for node in group}
    reach = {node: reachable(node, parents) for node in nodes}
    for a in nodes:
        for b in nodes:
            if a != b:
                assert (place[a] == place[b]) == (b in reach[a] and a in reach[b])
        assert all(place[parent] <= place[a] for parent in parents[a])


def test_a_deep_chain_needs_no_recursion():
    nodes = [f"t{i}" for i in range(5000)]
    found = components(nodes, {f"t{i}": [f"t{i + 1}"] for i in range(4999)})
    assert found[0] == ("t4999",)
    assert found[-1] == ("t0",)


def test_a_cycle_waits_for_the_nullable_key_and_a_self_reference_is_kept_apart():
    schema = read_ddl(
        "firm",
        """CREATE TABLE employee (id INTEGER PRIMARY KEY, dept INTEGER NOT NULL REFERENCES department (id),
             boss INTEGER REFERENCES employee (id));
           CREATE TABLE department (id INTEGER PRIMARY KEY, head INTEGER REFERENCES employee (id));""",
    )
    order = fill_order(schema)
    assert order.tables == ("department", "employee")
    assert [key.columns for key in order.deferred] == [("head",)]
    assert [key.columns for key in order.own] == [("boss",)]
    assert order.broken == ()


def test_a_cycle_of_primary_keys_is_reported_as_broken():
    schema = read_ddl(
        "twins",
        """CREATE TABLE a (id INTEGER PRIMARY KEY REFERENCES b (id));
           CREATE TABLE b (id INTEGER PRIMARY KEY REFERENCES a (id));""",
    )
    order = fill_order(schema)
    assert len(order.broken) == 1
