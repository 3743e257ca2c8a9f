"""Candidates: intents sampled from a profile, as SQL with the facts that selection needs. Nothing is executed."""

from __future__ import annotations

from itertools import islice
from math import ceil

import polars as pl

from agro_data.hashing import stable_hash
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.prior import Prior
from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import Intent, to_json
from agro_data.profiling.profile import DatabaseProfile
from agro_data.records import CANDIDATE, REJECTED, rejection, rows
from agro_data.sql.facts import sql_facts

GENERATOR = "grammar"
SPARE = 2.0  # drawn for each candidate that is kept: a choice of templates, before anything costly is done
NEW_TEMPLATES = 0.4  # of the candidates that are kept for their template; the others are as people's questions come


def candidates(
    profile: DatabaseProfile, *, count: int, seed: int, prior: Prior | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Up to `count` candidates of one database with distinct SQL, and the intents that gave none.

    More are drawn than are kept: most are kept in the order they came, `NEW_TEMPLATES` for a template of their own.
    Each shard draws from a stream of its own, so that a restart redoes one shard only; SQL that two shards share is
    dropped later, by `candidate_id`. Fewer than `count` rows mean that the database has nothing new to ask.
    """
    stream = sample_intents(profile, seed=seed, prior=prior)
    accepted: dict[str, dict[str, object]] = {}
    refused: list[dict[str, object]] = []
    drawn = ceil(SPARE * count)
    for intent in islice(stream, 2 * drawn):
        try:
            row = candidate(intent, profile)
        except Exception as error:  # a renderer's fault costs one intent, and is listed
            refused.append(_refusal(intent, error))
            continue
        accepted.setdefault(str(row["candidate_id"]), row)
        if len(accepted) == drawn:
            break
    return rows(_varied(list(accepted.values()), count), CANDIDATE), rows(refused, REJECTED)


def _varied(drawn: list[dict[str, object]], count: int) -> list[dict[str, object]]:
    """`count` of the rows in their order: the first of them, and of the later ones those whose template is new."""
    first = min(len(drawn), count) - min(round(NEW_TEMPLATES * count), max(0, len(drawn) - count))
    seen = {row["template"] for row in drawn[:first]}
    fresh: list[int] = []
    repeats: list[int] = []
    for place, row in enumerate(drawn[first:], start=first):
        (repeats if row["template"] in seen else fresh).append(place)
        seen.add(row["template"])
    chosen = sorted([*fresh, *repeats][: max(0, count - first)])
    return [*drawn[:first], *(drawn[place] for place in chosen)]


def candidate(intent: Intent, profile: DatabaseProfile, generator: str = GENERATOR) -> dict[str, object]:
    """One CANDIDATE row. `steps` are filled once the SQL is verified."""
    said = {
        "intent": to_json(intent),
        "shape": intent.shape,
        "tie_policy": intent.tie_policy,
        "plausibility": intent.plausibility,
        "generator": generator,
        "seed": intent.seed,
    }
    return facts_columns(render_sql(intent, profile), profile) | said


def facts_columns(sql: str, profile: DatabaseProfile) -> dict[str, object]:
    """The columns of a CANDIDATE row that follow from its SQL. Raises `SqlRefused` if it is no query."""
    facts = sql_facts(sql, profile.dialect, profile.schema)
    return {
        "candidate_id": stable_hash([profile.content_hash, profile.dialect, facts.canonical])[:16],
        "db_id": profile.db_id,
        "dialect": profile.dialect,
        "sql": sql,
        **facts.stored(),
        "template": facts.template,
        "steps": [],
        "order_matters": facts.order_matters,
        "tie_policy": facts.tie_policy,
    }


def _refusal(intent: Intent, error: Exception) -> dict[str, object]:
    identity = stable_hash(to_json(intent))[:16]
    row = {"candidate_id": identity, "db_id": intent.db_id, "shape": intent.shape}
    return rejection(row, "candidates", "not_rendered", f"{type(error).__name__}: {error}")
