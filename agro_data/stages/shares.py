"""How many queries each database is asked for: a share of what selection needs, then what is lacking of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from agro_data.stages import tally
from agro_data.stages.context import Context
from agro_data.stages.task import Task

SHARD = 1_000  # candidates; a worker holds one shard in memory
LEAST = 10  # candidates of a round: of fewer, that none is new would not say that a database has come to its end
STEADY = 4  # binary digits of a share that count
WORTHWHILE = 0.05  # a round that adds less than this share of what it tried has found the end of a database


def usable(context: Context) -> list[str]:
    """Ids of the databases that have a profile and rows."""
    return [str(db_id) for db_id in context.work.read_json("usable.json")]


def wanted(context: Context) -> int:
    """Verified queries to aim for, so that selection has a choice."""
    return ceil(context.config.size / context.config.styles_per_sql * context.config.oversample)


def steady(share: int) -> int:
    """`share` or up to an eighth more, one of few values: a query more or less in one database shall not move the
    shares of all others, whose shards would then have to be made again."""
    step = 1 << max(share.bit_length() - STEADY, 0)
    return ceil(share / step) * step


def weights(context: Context) -> dict[str, float]:
    """What each usable database is asked for beside the others: a focus moves a model's requests, not the grammar's."""
    databases = usable(context)
    asked = context.config.generator in ("llm", "both")
    return dict(
        zip(databases, context.focus.arm("domain", databases) if asked else [1.0] * len(databases), strict=True)
    )


def fair_shares(available: dict[str, int], total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Share `total` among databases by weight, none above what it has; the others give what one cannot."""
    shares: dict[str, int] = {}
    left = total
    order = sorted(available.items(), key=lambda item: (item[1] / weights[item[0]], item[0]))
    for position, (db_id, most) in enumerate(order):
        parts = sum(weights[other] for other, _ in order[position:]) / weights[db_id]
        shares[db_id] = min(most, ceil(left / parts))
        left -= shares[db_id]
    return shares


def accepted(context: Context) -> dict[str, int]:
    """How many different queries of each usable database have been verified."""
    shards = tally.by_database(context.work, "verified")
    return {db_id: len(tally.ids(context.work, "verified", shards.get(db_id, ()))) for db_id in usable(context)}


def top_up(context: Context, accepted: dict[str, int], ceiling: int) -> list[Task]:
    """Candidate shards of the next round, so that the databases, which have given `accepted` each, give `ceiling`
    together: for those that lack and can still give.
    """
    asked_of = tally.by_database(context.work, "candidates")
    open_ended = {
        db_id: n if _exhausted(context, asked_of.get(db_id, [])) else ceiling for db_id, n in accepted.items()
    }
    tasks: list[Task] = []
    for db_id, share in fair_shares(open_ended, ceiling, weights(context)).items():
        missing = steady(share) - accepted[db_id]
        if missing > 0 and open_ended[db_id] == ceiling:
            shards = asked_of.get(db_id, [])
            tried = len(tally.ids(context.work, "candidates", shards))
            rate = max(accepted[db_id] / max(tried, 1), 0.1)
            # At most as many again: the end of a small database is met early, not after its whole share was asked.
            asked = min(max(ceil(missing / rate), LEAST), max(tried, SHARD))
            tasks += split(context, db_id, max(map(tally.round_of, shards), default=-1) + 1, asked)
    return tasks


def _exhausted(context: Context, shards: Sequence[str]) -> bool:
    """Whether the last round of a database, which has these shards, gave next to nothing new."""
    work = context.work
    finished = [shard for shard in shards if work.finished("verified", shard)]
    last = max(map(tally.round_of, shards), default=0)
    newest = {shard for shard in shards if tally.round_of(shard) == last}
    before = tally.ids(work, "verified", (shard for shard in finished if shard not in newest))
    new = tally.ids(work, "verified", (shard for shard in finished if shard in newest)) - before
    return len(new) < max(WORTHWHILE * len(tally.ids(work, "candidates", newest)), 1)


def split(context: Context, db_id: str, round_: int, count: int) -> list[Task]:
    """Tasks of at most `SHARD` candidates each."""
    parts = max(ceil(count / SHARD), 1)
    return [Task(context, db_id, f"{db_id}.{round_:02d}.{n:03d}", ceil(count / parts)) for n in range(parts)]
