"""Where a build's budget goes: weights of the questions, and shares of the writers. `agro next-round` writes them, a
build reads them.

A weight says how often a value comes, compared with a build without weights: 2 is twice as often, 1 as often. A share
is a part of the requests to a model. A value that a file does not name comes as often as without a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from agro_data.config import ConfigError

FORMAT = 1
# The facets that are weighed: `tables` is the number of tables that a query reads ("4": four and more), `roles` are its
# columns' roles, `columns` are "db_id table.column", and `NO_CONSTRUCT` stands for a query without constructs.
FACETS = ("shapes", "tables", "roles", "columns", "constructs", "hardness", "complexity", "styles")
# The arms that share the requests: grammar and model, the two prompts, the kinds of requests, databases.
ARMS = ("model", "prompt", "complexity", "variation", "style", "domain")
NO_CONSTRUCT = "none"
MOST_TABLES = 4


@dataclass(frozen=True)
class Focus:
    """Weights by facet and value, shares by kind of arm and arm; the empty one changes nothing."""

    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    arms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def of(self, facet: str) -> Mapping[str, float]:
        """The weights of a facet that are known."""
        return self.weights.get(facet, {})

    def weight(self, facet: str, value: str) -> float:
        return self.of(facet).get(value, 1.0)

    def arm(self, kind: str, names: Sequence[str]) -> list[float]:
        """The relative shares of the arms `names`, 1 on average over the arms that are known; one that is not has 1."""
        known = self.arms.get(kind, {})
        return [known[name] * len(known) if name in known else 1.0 for name in names]


NO_FOCUS = Focus()


def turns(weights: Sequence[float], count: int) -> list[int]:
    """`count` turns: places in `weights`, each as often as its weight says, evenly spread.

    At every point no place is ahead of its part by one or more; equal weights take turns in their order.
    """
    total = sum(weights)
    if total <= 0:
        raise ValueError("no weight is above 0: nobody could have a turn")
    given = [0] * len(weights)
    order: list[int] = []
    for number in range(1, count + 1):
        owed = [number * (weight / total) - had for weight, had in zip(weights, given, strict=True)]
        place = owed.index(max(owed))
        given[place] += 1
        order.append(place)
    return order


def read_focus(path: Path) -> Focus:
    """The focus of a file. Raises `ConfigError` that says what is wrong with it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"focus {path}: cannot be read as JSON ({error}); `agro next-round` writes one") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ConfigError(f"focus {path}: no file of format {FORMAT} that `agro next-round` wrote")
    weights = _numbers(path, "weights", content.get("weights", {}), FACETS)
    return Focus(weights, _numbers(path, "arms", content.get("arms", {}), ARMS))


def _numbers(path: Path, part: str, found: Any, known: Sequence[str]) -> dict[str, dict[str, float]]:
    if not isinstance(found, dict):
        raise ConfigError(f"focus {path}: {part} is no mapping")
    for name, values in found.items():
        if name not in known:
            raise ConfigError(f"focus {path}: {part} names {name!r}; expected {', '.join(known)}")
        if not isinstance(values, dict):
            raise ConfigError(f"focus {path}: {part}, {name}: expected a number for each value")
        for value, number in values.items():
            if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number) or number <= 0:
                raise ConfigError(f"focus {path}: {part}, {name}, {value}: {number!r} is no number above 0")
    return {name: dict(values) for name, values in found.items()}
