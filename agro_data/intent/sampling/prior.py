"""What people ask: the weights that steer sampling. Numbers only, tuned to the questions of Spider's training part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

from agro_data.focus import Focus
from agro_data.profiling.profile import DatabaseProfile


@dataclass(frozen=True)
class Prior:
    """Relative weights; they need not sum to one.

    `hops`, `filters` and `projections` are the weights of 0, 1, 2, ... joins and conditions and of 1, 2, 3 columns;
    `limits` are (k, weight) of the first k; `ordered` is the share of plain lists that are asked for in an order;
    `coverage` is the share of draws that go to the least used column; a column ("table.column") of weight 2 in
    `columns` is due twice as often as others.
    """

    shapes: Mapping[str, float]
    hops: tuple[float, ...]
    filters: tuple[float, ...]
    projections: tuple[float, ...]
    limits: tuple[tuple[int, float], ...]
    filter_roles: Mapping[str, float]
    shown_roles: Mapping[str, float]
    ordered: float = 0.3
    coverage: float = 0.35
    columns: Mapping[str, float] = field(default_factory=dict)

    def with_shapes(self, weights: Mapping[str, float]) -> Prior:
        """This prior with some shapes' weights replaced. Raises `ValueError` on a shape that does not exist."""
        unknown = sorted(set(weights) - set(self.shapes))
        if unknown:
            raise ValueError(f"no such shape: {', '.join(unknown)}; there are {', '.join(sorted(self.shapes))}")
        return replace(self, shapes={**self.shapes, **weights})

    def for_profile(self, profile: DatabaseProfile) -> Prior:
        """This prior with the factors of `semantics.yml`: 2 asks a shape twice as often, 0 never."""
        factors = dict(profile.construct_prior)
        return self.with_shapes({s: self.shapes[s] * factors[s] for s in self.shapes if s in factors})

    def focused(self, focus: Focus, db_id: str) -> Prior:
        """This prior for one database with the weights of a focus: shapes, joins, roles and columns."""
        mine = f"{db_id} "
        return replace(
            self,
            shapes={shape: weight * focus.weight("shapes", shape) for shape, weight in self.shapes.items()},
            hops=tuple(weight * focus.weight("tables", str(hops + 1)) for hops, weight in enumerate(self.hops)),
            filter_roles={role: weight * focus.weight("roles", role) for role, weight in self.filter_roles.items()},
            shown_roles={role: weight * focus.weight("roles", role) for role, weight in self.shown_roles.items()},
            columns={
                name.removeprefix(mine): weight for name, weight in focus.of("columns").items() if name.startswith(mine)
            },
        )


@cache
def default_prior() -> Prior:
    """The shipped prior (`prior.json`)."""
    body = json.loads(files("agro_data.intent.sampling").joinpath("prior.json").read_text(encoding="utf-8"))
    return Prior(
        shapes=body["shapes"],
        hops=tuple(body["hops"]),
        filters=tuple(body["filters"]),
        projections=tuple(body["projections"]),
        limits=tuple((k, weight) for k, weight in body["limits"]),
        filter_roles=body["filter_roles"],
        shown_roles=body["shown_roles"],
        ordered=body["ordered"],
        coverage=body["coverage"],
    )
