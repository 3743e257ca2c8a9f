"""The model that a stage asks: kept open for all its shards, how far it is, and what it took.

A model is asked in a worker process, so that its memory is free when the stage is over. What others are to know goes
through small files in the work folder: `asking/<stage>.json` while it is asked, `spending/<stage>/<shard>.json` after.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from agro_data.llm.accounting import Spending
from agro_data.llm.client import Client
from agro_data.llm.endpoint import EndpointError
from agro_data.llm.types import Backend
from agro_data.llm.writers import open_writer
from agro_data.parallel import Lost
from agro_data.progress import Reporter, watching
from agro_data.stages.context import Context
from agro_data.work import Work

ASKING = "asking"
SPENDING = "spending"
EVERY = 1.0  # seconds between two words on how far a model is


def writer_of(context: Context) -> Client:
    """The model that writes, with its answers in the cache of the build. It stays open: close no client of it.

    Raises `Lost` where its server has gone since the build began: that says nothing of the shard.
    """
    try:
        return Client(_opened(context.config.writer), context.cache)
    except EndpointError as error:
        raise Lost(f"writer {context.config.writer}: {error}") from error


@lru_cache(maxsize=1)
def _opened(name: str) -> Backend:
    """A process asks one model. Loading one, or starting an engine, takes longer than many a shard."""
    return open_writer(name)


def telling(work: Work, shard: str) -> Reporter:
    """For the process that asks: what it tells is what `followed` passes on in another one."""
    last = 0.0

    def tell(stage: str, done: int, total: int, unit: str) -> None:
        nonlocal last
        now = time.monotonic()
        if not 0 < done < total or now - last >= EVERY:
            last = now
            work.write_json(f"{ASKING}/{stage}.json", {"shard": shard, "done": done, "total": total, "unit": unit})

    return tell


@contextmanager
def followed(work: Work, progress: Reporter) -> Iterator[None]:
    """While the block runs, `progress` is told how far its workers are with the requests of each shard."""
    seen = _told(work)

    def look(_over: bool) -> None:
        for stage, now in _told(work).items():
            before = seen.get(stage)
            if now != before:
                _pass_on(f"{stage} (model)", before, now, progress)
                seen[stage] = now

    with watching(look, EVERY):
        yield


def _told(work: Work) -> dict[str, dict[str, Any]]:
    """What was last told of each stage."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((work.root / ASKING).glob("[!.]*.json")):
        with suppress(FileNotFoundError):  # another build of the same may have cleared the folder
            found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _pass_on(stage: str, before: dict[str, Any] | None, now: dict[str, Any], progress: Reporter) -> None:
    """A shard that is begun starts again at 0."""
    same = before is not None and (before["shard"], before["total"]) == (now["shard"], now["total"])
    if not same or now["done"] < before["done"]:  # type: ignore[index]
        progress(stage, 0, now["total"], now["unit"])
    if now["done"]:
        progress(stage, now["done"], now["total"], now["unit"])


def store_spending(work: Work, client: Client, shard: str) -> None:
    """Note what a shard took of a model."""
    for stage, took in client.spent.items():
        work.write_json(_spending(stage, shard), asdict(took))


def take_over_spending(other: Work, work: Work, stage: str, shard: str) -> None:
    """Note in `work` what a shard that it is about to be given took of a model in `other`."""
    if (other.root / _spending(stage, shard)).is_file():
        work.write_json(_spending(stage, shard), asdict(_spent(other, stage, shard).taken_over))


def spent_in(work: Work, stage: str) -> Spending:
    """What all shards of a stage cost. If a shard was interrupted, the cost before the interruption is not counted."""
    return sum((_spent(work, stage, shard) for shard in _asked(work, stage)), Spending())


def unanswered(work: Work, stage: str, shard: str) -> int:
    """Requests of a finished shard that its server left without an answer: it is not what another run would make."""
    noted = (work.root / _spending(stage, shard)).is_file() and work.finished(stage, shard)
    return _spent(work, stage, shard).unanswered if noted else 0


def all_unanswered(work: Work) -> dict[tuple[str, str], int]:
    """The finished shards (stage, shard) that lack answers, and how many each."""
    stages = sorted(path.name for path in (work.root / SPENDING).glob("*"))
    found = {(stage, shard): unanswered(work, stage, shard) for stage in stages for shard in _asked(work, stage)}
    return {place: count for place, count in found.items() if count}


def _asked(work: Work, stage: str) -> list[str]:
    """The shards of a stage that have asked a model, sorted."""
    return sorted(path.stem for path in (work.root / SPENDING / stage).glob("[!.]*.json"))


def _spent(work: Work, stage: str, shard: str) -> Spending:
    return Spending.from_dict(work.read_json(_spending(stage, shard)))


def _spending(stage: str, shard: str) -> str:
    return f"{SPENDING}/{stage}/{shard}.json"


def spending(work: Work, stage: str) -> dict[str, float]:
    """The tokens of all answers of a stage, whoever paid for them: the same however often a build was interrupted."""
    took = spent_in(work, stage)
    if not took.requests:
        return {}
    return {
        "requests": float(took.requests),
        "failed": float(took.failed),
        "tokens_read": float(took.used.read),
        "tokens_written": float(took.used.written),
    }
