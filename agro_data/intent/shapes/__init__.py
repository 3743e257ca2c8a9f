"""One generator a shape: each proposes a query over a scene, or None where the database has nothing fit for it."""

from __future__ import annotations

from collections.abc import Callable

from agro_data.intent.sampling.scene import Draft, Scene
from agro_data.intent.shapes import expressions, groups, lists, sets, subqueries, windows
from agro_data.intent.tree import Shape

GENERATORS: dict[Shape, Callable[[Scene], Draft | None]] = {
    "list": lists.listing,
    "count": lists.count,
    "aggregate": lists.aggregate,
    "superlative": lists.superlative,
    "group": groups.group,
    "having": groups.having,
    "superlative_group": groups.superlative_group,
    "date_group": groups.date_group,
    "compare_groups": groups.compare_groups,
    "extreme": subqueries.extreme,
    "compare_average": subqueries.compare_average,
    "related_exists": subqueries.related_exists,
    "related_none": subqueries.related_none,
    "set_operation": sets.set_operation,
    "self_join": sets.self_join,
    "top_per_group": windows.top_per_group,
    "window": windows.window,
    "buckets": expressions.buckets,
    "arithmetic": expressions.arithmetic,
    "share": expressions.share,
    "text_function": expressions.text_function,
    "metric": expressions.metric,
}
