"""Tables whose references to themselves make a tree (`ForeignKey.tree`), as instances keep them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from agro_data.databases.types import Cell

Value = tuple[Cell, ...]
Link = tuple[Value | None, Value | None]
"""A row's own key, and the one that it refers to."""


def cut_circles(
    rows: Sequence[dict[str, Cell]],
    drawn: Sequence[Collection[str]],
    column: str,
    link: Callable[[dict[str, Cell]], Link],
) -> None:
    """Let no row of a table lead back to itself: `column` of a row whose link closes a circle is NULL. A link that was
    `drawn` goes before one that a query asked for.

    A query that walks up or down would never end there, or would count rows twice that no database has twice.
    """
    order = sorted(range(len(rows)), key=lambda number: column in drawn[number])
    for place in _closing(link(rows[number]) for number in order):
        rows[order[place]][column] = None


def _closing(links: Iterable[Link]) -> list[int]:
    """Which links close a circle with some before them."""
    above: dict[Value, Value] = {}
    closing: list[int] = []
    for number, (own, upper) in enumerate(links):
        if own is None or upper is None:
            continue
        if _leads(upper, own, above):
            closing.append(number)
        else:
            above.setdefault(own, upper)
    return closing


def _leads(start: Value, end: Value, above: Mapping[Value, Value]) -> bool:
    place: Value | None = start
    while place is not None and place != end:
        place = above.get(place)
    return place is not None
