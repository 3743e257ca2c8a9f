"""Rewrite a tree: the same tree with some nodes replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from agro_data.intent.tree import Column, Join, MetricCall, Query, Source

Tree = TypeVar("Tree")


def transform(node: Tree, change: Callable[[Any], Any]) -> Tree:
    """`node` with `change` applied to every dataclass node, children first; `change` returns the node to keep."""
    return _transform(node, change)  # type: ignore[no-any-return]


def _transform(node: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(node, tuple):
        return tuple(_transform(item, change) for item in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    new: dict[str, Any] = {}
    for field in fields(node):
        old = getattr(node, field.name)
        if isinstance(old, tuple) or is_dataclass(old):
            done = _transform(old, change)
            if done is not old and done != old:
                new[field.name] = done
    return change(replace(node, **new) if new else node)


def rename_sources(query: Query, names: Mapping[str, str]) -> Query:
    """`query` with its sources called by other aliases."""

    def change(node: Any) -> Any:
        match node:
            case Column() if node.source in names:
                return Column(names[node.source], node.name)
            case Source() if node.alias in names:
                return Source(names[node.alias], node.table)
            case MetricCall() if node.source in names:
                return MetricCall(node.name, names[node.source])
            case Join():
                return replace(node, left=names.get(node.left, node.left), right=names.get(node.right, node.right))
        return node

    return transform(query, change)
