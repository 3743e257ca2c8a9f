"""Which examples GRPO asks about: those whose gold holds, and which the model solves now and then.

A prompt that is always or never solved has no advantage to learn from (METHODS 3), so each candidate is tried a few
times first, and those whose solve rate lies between two bounds are kept (SQL-Trail, SynSQL: 1 to 7 of 8).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from agro_data.config import ConfigError
from agro_data.hashing import seed_of
from agro_train.reinforcement.episodes import Player
from agro_train.sql_env import GoldFault, check_golds
from agro_train.tasks import Task

CHUNK = 32  # candidates that are tried together

Item = TypeVar("Item")


class BadGolds(ConfigError):
    """Examples whose own gold does not earn the highest reward; the message names them."""

    def __init__(self, faults: Sequence[GoldFault]) -> None:
        shown = "\n  ".join(map(str, faults[:20]))
        more = f"\n  and {len(faults) - 20} more" if len(faults) > 20 else ""
        super().__init__(
            f"{len(faults)} examples cannot be trained on: the gold does not earn the full reward. Build the corpus "
            f'again from these databases, or leave such rows out with bad_golds="drop":\n  {shown}{more}'
        )


@dataclass(frozen=True)
class Wanted:
    """`prompts` are wanted, `tries` rollouts decide on one; the solve rate lies in `low` to `high`, both included.

    `tries` 0 takes every prompt whose gold holds. `drop`: a gold that does not hold costs its row, not the training.
    """

    prompts: int
    tries: int = 8
    low: float = 0.125
    high: float = 0.875
    drop: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Selection:
    """`kept` are example ids, in the order found; `rates` of all that were tried. What became of the others: counts."""

    kept: tuple[str, ...] = ()
    rates: tuple[tuple[str, float], ...] = ()
    bad_golds: int = 0
    too_hard: int = 0
    too_easy: int = 0
    too_long: int = 0

    def facts(self) -> dict[str, Any]:
        """Counts, for logs and manifests."""
        numbers = {name: value for name, value in asdict(self).items() if name not in {"kept", "rates"}}
        return {"kept": len(self.kept), "tried": len(self.rates), **numbers}

    def decided(self, wanted: Wanted) -> int:
        """How many candidates it is known of whether they are kept."""
        return self.bad_golds + self.too_long + len(self.rates if wanted.tries else self.kept)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Selection:
        return cls(
            **{**value, "kept": tuple(value["kept"]), "rates": tuple((key, rate) for key, rate in value["rates"])}
        )


def shuffled(items: Sequence[Item], *seed: object) -> list[Item]:
    """The items in an order that depends on the seed alone."""
    found = list(items)
    random.Random(seed_of("shuffle", *seed)).shuffle(found)
    return found


@dataclass(frozen=True)
class Tried:
    """The result for a candidate: its prompt leaves the model no turn to read, its gold does not hold, or how often it
    was solved (None: not tried).
    """

    example_id: str
    fault: GoldFault | None = None
    rate: float | None = None
    too_long: bool = False


@dataclass(frozen=True)
class Share:
    """Which process this is, of how many, and how the lists of all are joined into one."""

    rank: int = 0
    processes: int = 1
    join: Callable[[list[Tried]], list[Tried]] = list


def select(
    candidates: Sequence[str],
    make: Callable[[Sequence[str]], list[Task]],
    player: Player,
    wanted: Wanted,
    report: Callable[[dict[str, Any]], object] = lambda _: None,
    share: Share = Share(),
    found: Selection = Selection(),
    store: Callable[[Selection], object] = lambda _: None,
) -> Selection:
    """Try candidates in their order until enough are kept or none is left. `make` gives the tasks of ids.

    `found` is what was last given to `store`, which is given all that is known whenever more is: it goes on there.

    Every gold that is kept has been checked to earn the highest reward. Processes share the work, and all have the
    result. Raises `BadGolds` unless `wanted.drop`.
    """
    size = CHUNK * share.processes
    for start in range(found.decided(wanted), len(candidates), size):
        if len(found.kept) >= wanted.prompts:
            break
        some = candidates[start : start + size]
        mine = some[share.rank :: share.processes]
        tried = sorted(share.join(_try(make(mine), player, wanted)), key=lambda one: some.index(one.example_id))
        faults = [one.fault for one in tried if one.fault is not None]
        if faults and not wanted.drop:
            raise BadGolds(faults)
        found = _counted(found, tried, wanted)
        store(found)
        report({"phase": "select", **found.facts()})
    return replace(found, kept=found.kept[: wanted.prompts])


def _try(tasks: Sequence[Task], player: Player, wanted: Wanted) -> list[Tried]:
    fits = {task.example_id: player.fits(task) for task in tasks}
    fitting = [task for task in tasks if fits[task.example_id]]
    faults = {fault.example_id: fault for fault in check_golds(fitting, player.sandbox, player.golds, player.preset)}
    sound = [task for task in fitting if task.example_id not in faults]
    tried = [Tried(key, fault) for key, fault in faults.items()]
    tried += [Tried(key, too_long=True) for key, fitted in fits.items() if not fitted]
    if not wanted.tries:
        return [*tried, *(Tried(task.example_id) for task in sound)]
    many = [task for task in sound for _ in range(wanted.tries)]
    seeds = [seed_of("select", wanted.seed, task.example_id, place % wanted.tries) for place, task in enumerate(many)]
    right = np.array([one.finished.right for one in player.play(many, seeds)], dtype=np.float64)
    rates = right.reshape(len(sound), wanted.tries).mean(axis=1)
    return [*tried, *(Tried(task.example_id, rate=float(rate)) for task, rate in zip(sound, rates, strict=True))]


def _counted(found: Selection, tried: Sequence[Tried], wanted: Wanted) -> Selection:
    rates = [(one.example_id, one.rate) for one in tried if one.rate is not None]
    kept = [
        one.example_id
        for one in tried
        if not one.too_long and one.fault is None and (one.rate is None or wanted.low <= one.rate <= wanted.high)
    ]
    return Selection(
        kept=(*found.kept, *kept),
        rates=(*found.rates, *rates),
        bad_golds=found.bad_golds + sum(one.fault is not None for one in tried),
        too_hard=found.too_hard + sum(rate < wanted.low for _, rate in rates),
        too_easy=found.too_easy + sum(rate > wanted.high for _, rate in rates),
        too_long=found.too_long + sum(one.too_long for one in tried),
    )


def schedule(keys: Sequence[str], count: int, seed: int) -> list[str]:
    """`count` keys: all of them again and again, each time in another order."""
    if not keys:
        raise ValueError("there is no prompt to schedule")
    rounds = -(-count // len(keys))
    return [key for number in range(rounds) for key in shuffled(keys, "schedule", seed, number)][:count]
