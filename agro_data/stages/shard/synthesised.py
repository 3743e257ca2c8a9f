"""Candidates that are not drawn from the grammar: from a query log, and from a language model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import TypeAdapter

from agro_data.diversity.embeddings import encoder_named
from agro_data.diversity.structure import text_vectors
from agro_data.hashing import seed_of, stable_hash
from agro_data.intent.logs.query_log import shape_of
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.tree import Intent
from agro_data.llm.types import Sampling
from agro_data.profiling.profile import DatabaseProfile
from agro_data.records import CANDIDATE, REJECTED, rejection, rows
from agro_data.stages.context import Context
from agro_data.stages.model import store_spending, telling, writer_of
from agro_data.stages.shard.candidates import GENERATOR, candidate, candidates, facts_columns
from agro_data.stages.shard.phrased import Writer, phrased
from agro_data.stages.shard.questions import questions
from agro_data.stages.yields import note
from agro_data.synthesis.ideas import Idea, ideas_of_log
from agro_data.synthesis.seeds import Seeds, seeds_of
from agro_data.synthesis.writing import Unwritten, write_queries

UNREAD = 0.5  # plausibility of SQL that no intent says: nothing is known for it or against it
SAMPLING = Sampling(temperature=0.8, max_tokens=600)
SEEDS = "seeds"  # below the work folder: the log's queries for each database, without their values

_LOST = {
    "text_elsewhere": "hold a text that is compared with no column of a table, and may be anything",
    "not_read": "cannot be read as SQL of this database",
    "unknown_table": "read tables that this database lacks",
    "unknown_column": "read columns that this database lacks",
    "not_deterministic_function": "depend on the day, or on chance",
    "forbidden_function": "call what may not be called here",
}  # why queries of a log give nothing, behind how many they are

Row = dict[str, Any]


def made(context: Context, db_id: str, shard: str, count: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Up to `count` candidates of a shard by the generator of the build, and what gave none."""
    config = context.config
    seed = seed_of(config.seed, shard)
    if config.generator == "grammar":
        return candidates(context.asked(db_id), count=count, seed=seed, prior=context.prior(db_id))
    if config.generator == "log":
        return _of_log(context, db_id, shard, count, seed)
    if config.generator == "llm":
        return _of_model(context, db_id, shard, count, seed)
    grammar, model = context.focus.arm("model", ("grammar", "llm"))
    asked = int(count * model / (grammar + model))
    drawn = candidates(context.asked(db_id), count=count - asked, seed=seed, prior=context.prior(db_id))
    written = _of_model(context, db_id, shard, asked, seed, drawn[0].height)
    kept = pl.concat([drawn[0], written[0]]).unique("candidate_id", keep="first", maintain_order=True)
    return kept, pl.concat([drawn[1], written[1]])


def said(context: Context, db_id: str, shard: str, verified: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The questions of a shard. A model words the questions for SQL without an intent, or all, as `wording` says."""
    profile, config = context.profile(db_id), context.config
    unsaid = config.wording != "grammar" or not verified.filter(pl.col("intent") == "").is_empty()
    if not config.writer or not unsaid:
        return questions(verified, profile, config.seed, context.focus)

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        encoder = encoder_named(config.embedding_model)
        return text_vectors(texts) if encoder is None else encoder.encode(texts)

    client = writer_of(context)
    writer = Writer(client, config.wording, config.phrasings, embed, context.focus)
    found = phrased(verified, profile, config.seed, writer, telling(context.work, shard))
    store_spending(context.work, client, shard)
    note(context.work, "questions", shard, writer.requests(verified, config.seed))
    return found


def _of_log(context: Context, db_id: str, shard: str, count: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    profile = context.profile(db_id)
    seeds = _seeds(context, profile)
    ideas = ideas_of_log(seeds.seeds, Atlas(profile), context.prior(db_id), seed)
    kept, refused = stored(ideas, profile, count=count, asked=bool(context.config.writer))
    lost = [(number, _LOST.get(reason, f"fail as {reason}")) for reason, number in seeds.refused]
    if not seeds.seeds:
        counts = "; ".join(f"{number:,} {why}" for number, why in lost) or "no queries"
        said = f"the log has no query that this database can answer ({counts})"
        return kept, rows([_rejected(profile, "no_seeds", said, None, None)], REJECTED)
    if shard != f"{db_id}.00.000":  # one shard of a database lists them
        return kept, refused
    told = [_rejected(profile, "no_seed", f"{number:,} of the log: they {why}", None, None) for number, why in lost]
    return kept, pl.concat([rows(told, REJECTED), refused])


def _of_model(
    context: Context, db_id: str, shard: str, count: int, seed: int, drawn: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What a model writes. `drawn` candidates of the shard are the grammar's: all are noted at once."""
    profile = context.profile(db_id)
    seeds = _seeds(context, profile).seeds if context.config.query_log else ()
    client, tell = writer_of(context), telling(context.work, shard)
    ideas, unwritten = write_queries(client, Atlas(profile), seeds, count, seed, SAMPLING, tell, context.focus)
    store_spending(context.work, client, shard)
    asked_for = Counter([idea.generator for idea in ideas] + [one.generator for one in unwritten])
    note(context.work, "candidates", shard, asked_for + Counter({GENERATOR: drawn}))
    kept, refused = stored(ideas, profile, count=count, asked=True)
    return kept, pl.concat([refused, rows([_unwritten(one, profile) for one in unwritten], REJECTED)])


def _seeds(context: Context, profile: DatabaseProfile) -> Seeds:
    """The seeds of a database, looked for in the log once and not by every shard: each query is parsed for it."""
    name = f"{SEEDS}/{profile.db_id}.json"
    if not (context.work.root / name).is_file():
        queries = context.log(profile.dialect).queries
        context.work.write_json(name, asdict(seeds_of(queries, profile.dialect, profile.schema)))
    return TypeAdapter(Seeds).validate_python(context.work.read_json(name))


def stored(
    ideas: Iterable[Idea], profile: DatabaseProfile, *, count: int, asked: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """CANDIDATE rows of up to `count` ideas with distinct SQL, and those that gave none.

    SQL that no intent says needs a model to ask for it: without one (`asked` False) it is refused, once each.
    """
    accepted: dict[str, Row] = {}
    refused: dict[str, Row] = {}
    for idea in islice(ideas, 4 * count):
        if idea.fault:
            refusal = _refusal(idea, profile, "not_varied", idea.fault)
            refused.setdefault(refusal["candidate_id"], refusal)
            continue
        try:
            row = _row(idea, profile)
        except Exception as error:  # a renderer's fault, or SQL that is no query, costs one idea, and is listed
            refusal = _refusal(idea, profile, "not_rendered", f"{type(error).__name__}: {error}")
            refused.setdefault(refusal["candidate_id"], refusal)
            continue
        if guarded := [name for name in row["columns"] if name in profile.hidden_columns]:
            said = f"reads {', '.join(guarded)}, which holds passwords, keys or the like"
            refusal = _refusal(idea, profile, "guarded", said)
            refused.setdefault(refusal["candidate_id"], refusal)
            continue
        if not row["intent"] and not asked:
            why = f" ({idea.unread})" if idea.unread else ""
            said = f"the grammar has no question for it{why}, and no model is named that could write one (writer)"
            refusal = _refusal(idea, profile, "no_question", said)
            refused.setdefault(row["skeleton"], refusal)
            continue
        accepted.setdefault(str(row["candidate_id"]), row)
        if len(accepted) == count:
            break
    return rows(list(accepted.values()), CANDIDATE), rows(list(refused.values()), REJECTED)


def _row(idea: Idea, profile: DatabaseProfile) -> Row:
    if isinstance(idea.query, Intent):
        return candidate(idea.query, profile, idea.generator)
    columns = facts_columns(idea.query, profile)
    return columns | {
        "intent": "",
        "shape": shape_of(idea.query, profile.dialect) or "list",
        "plausibility": UNREAD,
        "generator": idea.generator,
        "seed": idea.seed,
    }


def _refusal(idea: Idea, profile: DatabaseProfile, reason: str, detail: str) -> Row:
    sql = idea.query if isinstance(idea.query, str) else None
    shape = idea.query.shape if isinstance(idea.query, Intent) else None
    return _rejected(profile, reason, detail, sql, shape)


def _unwritten(one: Unwritten, profile: DatabaseProfile) -> Row:
    return _rejected(profile, f"unwritten_{one.kind}", f"{one.generator}: {one.detail}", None, None)


def _rejected(profile: DatabaseProfile, reason: str, detail: str, sql: str | None, shape: str | None) -> Row:
    identity = stable_hash([profile.content_hash, reason, detail, sql])[:16]
    row = {"candidate_id": identity, "db_id": profile.db_id, "sql": sql, "shape": shape}
    return rejection(row, "candidates", reason, detail)
