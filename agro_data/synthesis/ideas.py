"""Ideas: what seeds give, one after the other, as candidates that the gate has still to see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from agro_data.hashing import seed_of
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.prior import Prior
from agro_data.intent.tree import Intent
from agro_data.prompts.vary_query import KINDS, Kind
from agro_data.synthesis.literals import redrawn
from agro_data.synthesis.read_back.reading import Unread, read_intent
from agro_data.synthesis.rewrites import rewritten
from agro_data.synthesis.seeds import Seed
from agro_data.synthesis.variations import vary

PATIENCE = 2 * len(KINDS)  # rounds over all seeds without anything new after which a log has given what it has
CHAIN = 0.5  # of the variations that are varied once more
AGAIN: tuple[Kind, ...] = ("structure", "logic", "complexity", "performance")
DULL = 3  # times that a kind may give nothing new of a seed, in a row, before it is asked for no more
MOST = 12  # variations of one kind that are chosen from


@dataclass(frozen=True)
class Idea:
    """A query to ask: its intent, or SQL that no intent says; and what made it, `log:structure` or `llm:simple`.

    `fault` says why nothing came of it, where a rewriting failed on the SQL; `unread` why no intent says it.
    """

    query: Intent | str
    generator: str
    seed: int
    fault: str = ""
    unread: str = ""


def ideas_of_log(seeds: Sequence[Seed], atlas: Atlas, prior: Prior, seed: int) -> Iterator[Idea]:
    """Ideas of all seeds in turn, the best seed first: as they were asked with other values, then their variations.

    The same for the same arguments; no two alike. The stream ends when whole rounds give nothing new.
    """
    seen: set[object] = set()
    dull: Counter[tuple[int, Kind]] = Counter()
    idle = number = 0
    while seeds and idle < PATIENCE:
        idle += 1
        for place, kind in _turns(number, len(seeds)):
            one = seeds[place]
            own = seed_of(seed, number, place, kind)
            if dull[place, kind] >= DULL:
                continue
            dull[place, kind] += 1
            try:
                idea = _idea(one, kind, atlas, prior, own)
            except Exception as error:  # people write what no rewriting was made for: it costs one idea, and is listed
                idea = Idea(one.sql, f"log:{kind}", own % 2**48, f"{type(error).__name__}: {error}")
            if idea is None:
                continue
            key = (
                (idea.query.query, idea.query.rendering) if isinstance(idea.query, Intent) else (idea.query, idea.fault)
            )
            if key not in seen:
                seen.add(key)
                idle = dull[place, kind] = 0
                yield idea
        number += 1


def _turns(number: int, count: int) -> Iterator[tuple[int, Kind]]:
    """The seeds of a round and their kinds: in the first each as it was asked and varied in one way, then in turn."""
    for place in range(count):
        if number == 0:
            yield place, KINDS[0]
            yield place, KINDS[1 + place % (len(KINDS) - 1)]
        else:
            yield place, KINDS[(number + place) % len(KINDS)]


def _idea(one: Seed, kind: Kind, atlas: Atlas, prior: Prior, seed: int) -> Idea | None:
    """One variation of a seed of one kind, at times varied once more; None where nothing comes of it."""
    rng = Random(seed)
    sql = redrawn(one.sql, atlas, rng)
    if sql is None:
        return None
    read = read_intent(sql, atlas, seed)
    query: Intent | str | None = read if isinstance(read, Intent) else sql
    alone = kind in ("values", "advanced") or rng.random() >= CHAIN
    kinds = [kind] if alone else [kind, rng.choice(AGAIN)]
    for each in kinds if kind != "values" else ():
        further = _varied(query, each, atlas, prior, rng) if query is not None else None
        query = further if each == kind else further or query
    if isinstance(query, str):
        again = read_intent(query, atlas, seed)
        return Idea(query, f"log:{kind}", seed % 2**48, unread=again.detail if isinstance(again, Unread) else "")
    return Idea(query, f"log:{kind}", seed % 2**48) if query is not None else None


def _varied(query: Intent | str, kind: Kind, atlas: Atlas, prior: Prior, rng: Random) -> Intent | str | None:
    if isinstance(query, Intent):
        most = 1 if kind == "advanced" else MOST
        options = list(islice(vary(query, kind, atlas, rng, prior), most))
        return rng.choice(options) if options else None
    texts = list(islice(rewritten(query, kind, atlas, rng), MOST))
    if not texts:
        return None
    sql = rng.choice(texts)
    read = read_intent(sql, atlas, rng.getrandbits(32))
    return read if isinstance(read, Intent) else sql
