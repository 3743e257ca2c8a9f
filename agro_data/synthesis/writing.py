"""Queries by a language model: for parts of a schema at a given complexity, and as variations of a log's queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm
from random import Random

from agro_data.focus import NO_FOCUS, Focus, turns
from agro_data.hashing import seed_of
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.tree import Intent
from agro_data.llm.client import Client
from agro_data.llm.prompt import Asked, Unparsed, ask
from agro_data.llm.types import Sampling
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialising.serialise import fit_schema
from agro_data.progress import Reporter, silent
from agro_data.prompts.solution import Solution
from agro_data.prompts.vary_query import KINDS, VARY_QUERY, VariationWanted
from agro_data.prompts.write_query import WRITE_QUERY, QueryWanted
from agro_data.protocol import ENGINES
from agro_data.sql.difficulty import COMPLEXITY
from agro_data.synthesis.ideas import Idea
from agro_data.synthesis.read_back.reading import read_intent
from agro_data.synthesis.seeds import Seed
from agro_data.synthesis.subschemas import SubSchema, subschemas

BUDGET = 2_000  # tokens of the schema in a request
ONE_MORE = 0.4  # how often one more column is asked for: their number is geometric, as OmniSQL's (2503.02240)
MOST_OUTPUTS = 5
STAGE = "candidates"


@dataclass(frozen=True)
class Unwritten:
    """A request that gave no query: the class and the words of `Unparsed`, and what was asked for."""

    kind: str
    detail: str
    generator: str


def write_queries(
    client: Client,
    atlas: Atlas,
    seeds: Sequence[Seed],
    count: int,
    seed: int,
    sampling: Sampling,
    progress: Reporter = silent,
    focus: Focus = NO_FOCUS,
) -> tuple[list[Idea], list[Unwritten]]:
    """What a model writes when it is asked for `count` queries: each as an idea, or why it is none.

    Requests are the same for the same arguments, so that what was answered is not asked again; what is wanted twice is
    two requests, since a small schema or log soon has no more to ask about. Without a focus, half
    of them vary `seeds`, where there are any, and each complexity and kind is asked for as often as the others.
    """
    fresh_ones, variations = focus.arm("prompt", ("write_query", "vary_query"))
    varied = round(count * variations / (fresh_ones + variations)) if seeds else 0
    sampling = replace(sampling, seed=seed % 2**31)
    wanted = queries_wanted(atlas, count - varied, seed, focus)
    fresh = ask(client, WRITE_QUERY, wanted, sampling, apart=True, stage=STAGE, progress=progress)
    changes = variations_wanted(atlas, seeds, varied, seed, focus)
    changed = ask(client, VARY_QUERY, changes, sampling, apart=True, stage=STAGE, progress=progress)
    told = [(one, f"llm:{wanted[one.place].complexity}") for one in fresh]
    told += [(one, f"llm:{changes[one.place].kind}") for one in changed]
    ideas: list[Idea] = []
    unwritten: list[Unwritten] = []
    for number, (one, generator) in enumerate(told):
        if isinstance(one.answer, Unparsed):
            unwritten.append(Unwritten(one.answer.kind, one.answer.detail, generator))
        else:
            ideas.append(_idea(one, atlas, generator, seed_of(seed, number)))
    return ideas, unwritten


def queries_wanted(atlas: Atlas, count: int, seed: int, focus: Focus = NO_FOCUS) -> list[QueryWanted]:
    """What is asked for: parts of the schema in turn, each complexity as often as the focus says."""
    rng = Random(seed_of(seed, "write"))
    shares = focus.arm("complexity", COMPLEXITY)
    order = turns([focus.weight("complexity", one) * s for one, s in zip(COMPLEXITY, shares, strict=True)], count)
    return [
        QueryWanted(
            schema=_schema(part.profile),
            column=".".join(part.target),
            outputs=_outputs(part, rng),
            complexity=COMPLEXITY[place],
            dialect=ENGINES[atlas.profile.dialect],
        )
        for place, part in zip(order, subschemas(atlas, seed), strict=False)
    ]


def variations_wanted(
    atlas: Atlas, seeds: Sequence[Seed], count: int, seed: int, focus: Focus = NO_FOCUS
) -> list[VariationWanted]:
    """What is asked for: the seeds in turn, each in every way before any in one again; their values are not told."""
    start = seed_of(seed, "vary") % len(KINDS)
    kinds = [*KINDS[start:], *KINDS[:start]]
    wanted = []
    cycle = lcm(len(kinds), max(len(seeds), 1))  # seeds and kinds in step would meet in no other pairs after it
    for number, place in enumerate(turns(focus.arm("variation", kinds), count)):
        one = seeds[(number + number // cycle) % len(seeds)]
        tables = sorted({column.rpartition(".")[0] for column in one.columns} & set(atlas.by_name))
        wanted.append(
            VariationWanted(
                schema=fit_schema(atlas.profile, budget=BUDGET, tables=tables or None).text,
                sql=one.sql,
                kind=kinds[place],
                dialect=ENGINES[atlas.profile.dialect],
            )
        )
    return wanted


def _schema(profile: DatabaseProfile) -> str:
    return fit_schema(profile, budget=BUDGET).text


def _outputs(part: SubSchema, rng: Random) -> int:
    count = 1
    while rng.random() < ONE_MORE and count < MOST_OUTPUTS:
        count += 1
    return count


def _idea(one: Asked[Solution], atlas: Atlas, generator: str, seed: int) -> Idea:
    assert isinstance(one.answer, Solution)
    sql = one.answer.sql
    try:
        read = read_intent(sql, atlas, seed)
    except Exception as error:  # models write what nobody foresaw: it costs one idea, and is listed
        return Idea(sql, generator, seed % 2**48, f"{type(error).__name__}: {error}")
    return Idea(read if isinstance(read, Intent) else sql, generator, seed % 2**48)
