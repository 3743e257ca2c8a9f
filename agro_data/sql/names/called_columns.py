"""Which columns COLUMNS(...) of DuckDB stands for in a select list, and what the outputs made of them are called."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.sql.walks import local_nodes

_GROUP = re.compile(r"\\(\d)")  # in the alias of a COLUMNS: a part of the column's name
_MOST_GROUPS = 10


def is_star(node: exp.Expr) -> bool:
    """Whether a node is `*` or `t.*`."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def columns_in(item: exp.Expr) -> exp.Columns | None:
    """The COLUMNS(...) for each column of which an item of a select list gives an output; what `*COLUMNS(...)` unpacks
    are arguments.
    """
    found = next((node for node in local_nodes(item) if isinstance(node, exp.Columns)), None)
    return found if found is not None and not found.args.get("unpack") else None


def called(by: exp.Expr, names: Sequence[str], spelled: bool) -> list[bool] | None:
    """Which of these columns the argument of a COLUMNS calls; None where that cannot be told without the engine.

    `spelled`: the letter case of the names is what it is in the engine.
    """
    if is_star(by):
        return [True for _ in names]
    if isinstance(by, exp.Array) and all(isinstance(one, exp.Literal) and one.is_string for one in by.expressions):
        listed = {folded(one.name) for one in by.expressions}
        return [folded(name) in listed for name in names]
    if not isinstance(by, exp.Literal) or not by.is_string:
        return None
    import polars as pl  # noqa: PLC0415

    # in linear time whatever the expression is, as in the engine, and not as with `re`
    columns = pl.Series(names, dtype=pl.String)
    found = columns.str.contains(by.name, strict=False).to_list()
    doubtful = not spelled and found != columns.str.contains(f"(?i){by.name}", strict=False).to_list()
    return None if doubtful or None in found else found


def outputs_called(alias: str, by: exp.Expr, names: Sequence[str]) -> list[str] | None:
    """What the outputs are called that are made of these columns: as they are, or as `alias` says, in which `\\1` is
    the first group of the regular expression and `\\0` all that it matched. None where that cannot be told.
    """
    if not alias:
        return list(names)
    said = _GROUP.split(alias)  # text and number of a group in turn
    if len(said) > 2 * _MOST_GROUPS:
        return None
    import polars as pl  # noqa: PLC0415

    column, regex = pl.Series(names, dtype=pl.String), by.name if isinstance(by, exp.Literal) else "(?s).*"
    groups = {group: column.str.extract(regex, int(group)).fill_null("").to_list() for group in said[1::2]}
    return [
        "".join(groups[part][row] if place % 2 else part for place, part in enumerate(said))
        for row in range(len(names))
    ]
