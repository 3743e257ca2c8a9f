"""A version checked by Gen-as-Check, database by database: what is confirmed becomes the next version of its corpus.

A row keeps all that was known of it, with `alignment_method` `verified` or `judged` and the share of the answers that
agree as its `alignment_score`. New SQL gets facts, digest and a certificate of its own; a row whose new SQL cannot be
certified is rejected. What was rejected is kept beside the corpus, and every cycle and match in `alignment/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.alignment.cycles import ACCEPTANCE, CYCLE, Outcome, Rule, acceptance, check, log_of
from agro_data.alignment.example import Home
from agro_data.alignment.judge import Judge
from agro_data.alignment.regenerate import Regenerator
from agro_data.alignment.solvers import Solver
from agro_data.alignment.tournament import MATCHES
from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.fingerprint import code_version, seed_of, stable_hash
from agro_data.llm.accounting import Spending
from agro_data.profiling.profile import DatabaseProfile
from agro_data.progress import Reporter, counting, silent
from agro_data.publish.read import Version
from agro_data.publish.version import MUTANTS, Instances, write_version
from agro_data.records import EXAMPLE, INSTANCE_INDEX, REJECTED, conform, rows
from agro_data.sql.facts import sql_facts
from agro_data.stages.certified import mutant_row, stored_columns
from agro_data.stages.unanswered import id_of
from agro_data.verify.certificate import certify
from agro_data.verify.execution import execute
from agro_data.verify.grade import GoldResults
from agro_data.verify.pool import Certificate
from agro_data.work import Work

STAGE = "alignment"
MADE = "alignment"  # the generator of SQL that came of it
INSTANCES = "instances"

Row = dict[str, Any]


@dataclass(frozen=True)
class Referees:
    """Who checks, and how: solvers, the rule, and who judges and makes anew. `facts` are what a manifest says of them,
    `spent` what their client counts by stage.

    Without a `judge` the solvers outvote a gold.
    """

    solvers: Sequence[Solver]
    rule: Rule
    regenerate: Regenerator
    judge: Judge | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    spent: Mapping[str, Spending] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """For the manifest, and for the identity of the version."""
        solvers = [{"name": one.name, **one.facts} for one in self.solvers]
        return {"solvers": solvers, **asdict(self.rule), **self.facts}


def align_version(
    version: Version,
    databases: Mapping[str, tuple[Database, DatabaseProfile]],
    out: Path,
    referees: Referees,
    sandbox: Sandbox,
    cache: Path,
    *,
    progress: Reporter = silent,
) -> Path:
    """Check every answerable row of `version`; give the folder of the version below `out` that holds what is kept.

    `databases` are those of the version, by id. A database that is finished is not checked again by a later call with
    the same referees. Raises like `write_version`.
    """
    identity = stable_hash([version.fingerprint, referees.described(), code_version()])
    work = Work(cache / STAGE / identity[:16])
    frame = version.examples().sort("example_id").collect()
    fates = version.all_mutants()
    add = counting(progress, "alignment", frame.height, "examples")
    parts = {str(db_id): own for (db_id,), own in sorted(frame.partition_by("db_id", as_dict=True).items())}
    for db_id, own in parts.items():
        if not work.finished("kept", db_id):
            _align(version, own, fates, *databases[db_id], referees, sandbox, work)
        add(own.height)
    kept = _all(work, "kept", list(parts), EXAMPLE)
    index = _all(work, "index", list(parts), INSTANCE_INDEX)
    made = work.root / INSTANCES
    files = {
        name: made / name if (made / name).is_file() else version.path / INSTANCES / name
        for name in index["file"].unique().sort()
    }
    rejected = pl.concat([version.rejected().collect().select(list(REJECTED)), work.read_rejected("kept")])
    summed = _all(work, "acceptance", list(parts), ACCEPTANCE).group_by("hardness", maintain_order=True)
    counts = summed.agg(pl.exclude("kept").sum()).with_columns(kept=1 - pl.col("rejected") / pl.col("examples"))
    return write_version(
        out,
        version.corpus,
        fingerprint=identity,
        examples=kept,
        rejected=rejected,
        manifest=_manifest(version, referees, kept.height, counts.sort("hardness").to_dicts()),
        instances=Instances(files, index, _all(work, "mutants", list(parts), MUTANTS)),
        profiles=version.profiles(),
        tables={
            "alignment/cycles.parquet": _all(work, "cycles", list(parts), CYCLE),
            "alignment/matches.parquet": _all(work, "matches", list(parts), MATCHES),
        },
    )


def _manifest(version: Version, referees: Referees, kept: int, counts: list[Row]) -> dict[str, Any]:
    old = version.manifest
    return {
        **{key: old[key] for key in ("config", "databases", "seeds", "schema_serialiser") if key in old},
        "funnel": [*old["funnel"], {"stage": STAGE, "rows": kept}],
        "alignment": {"of": version.name, **referees.described(), "acceptance": counts},
    }


def _all(work: Work, stage: str, shards: Sequence[str], schema: pl.Schema) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=schema), *(work.read(stage, shard) for shard in shards)])


# --- one database --------------------------------------------------------------------------------------------------


@dataclass
class _Sorted:
    """The rows of one database as they end. `ids`: those whose certificates still hold, to what they are called now."""

    kept: list[Row]
    ids: dict[str, str]
    refused: list[Row] = field(default_factory=list)
    index: list[Row] = field(default_factory=list)
    mutants: list[Row] = field(default_factory=list)


def _align(
    version: Version,
    frame: pl.DataFrame,
    fates: pl.DataFrame,
    database: Database,
    profile: DatabaseProfile,
    referees: Referees,
    sandbox: Sandbox,
    work: Work,
) -> None:
    """Check the rows of one database, and store what is kept, what is not, and the log; `kept` last.

    `fates` are all mutants of the version.
    """
    names = frame["instances"].explode().drop_nulls().to_list()
    home = Home.of(database, profile, version.path / INSTANCES, names)
    checked = frame.filter(pl.col("answerable")).to_dicts()
    referees.regenerate.tournaments.clear()
    outcomes = check(
        [home.example(row) for row in checked],
        referees.solvers,
        referees.rule,
        sandbox,
        judge=referees.judge,
        regenerate=referees.regenerate,
        golds=GoldResults(),
    )
    certificates = _certificates(outcomes, database, profile, sandbox, work)
    ended = _sorted_out(frame, list(zip(checked, outcomes, strict=True)), certificates, home, sandbox)
    before = version.instances().filter(pl.col("db_id") == database.db_id).collect()
    mutants = _renamed(fates, ended.ids).select(list(MUTANTS))
    shard = database.db_id
    work.write("index", shard, pl.concat([_renamed(before, ended.ids), rows(ended.index, INSTANCE_INDEX)]))
    work.write("mutants", shard, pl.concat([mutants, rows(ended.mutants, MUTANTS)]))
    work.write("cycles", shard, log_of(outcomes))
    work.write("acceptance", shard, acceptance(outcomes))
    played = [match for one in referees.regenerate.tournaments for match in one.rows()]
    work.write("matches", shard, pl.DataFrame(played, schema=MATCHES, orient="row"))
    kept = pl.DataFrame(ended.kept, schema=EXAMPLE, orient="row")
    kept = kept.unique("example_id", keep="first", maintain_order=True)
    work.write("kept", shard, conform(kept, EXAMPLE), rows(ended.refused, REJECTED))


def _sorted_out(
    frame: pl.DataFrame,
    ended: Sequence[tuple[Row, Outcome]],
    certificates: Mapping[str, Certificate],
    home: Home,
    sandbox: Sandbox,
) -> _Sorted:
    """What becomes of each row; those that nobody is asked about stay, with their readings."""
    kept: list[Row] = frame.filter(~pl.col("answerable")).to_dicts()
    same = [row["example_id"] for row in kept]
    same += [reading["reading_id"] for row in kept for reading in row["readings"]]
    found = _Sorted(kept, dict(zip(same, same, strict=True)))
    for row, outcome in ended:
        new_sql = outcome.example.sql != row["sql"]
        certificate = certificates.get(outcome.example.sql) if new_sql else None
        if outcome.fate == "rejected":
            found.refused.append(_refused(row, outcome.reason, outcome.detail))
        elif certificate is not None and not certificate.ok:
            found.refused.append(_refused(row | {"sql": certificate.sql}, certificate.reason, certificate.detail))
        else:
            new = _row(row, outcome, home, certificate, sandbox)
            found.kept.append(new)
            if certificate is None:
                found.ids[row["example_id"]] = new["example_id"]
                continue
            own = {"db_id": home.database.db_id, "example_id": new["example_id"]}
            pairs = zip(certificate.instances, certificate.digests, strict=True)
            found.index += [{**own, "file": file, "gold_digest": digest} for file, digest in pairs]
            found.mutants += [{"example_id": new["example_id"], **mutant_row(fate)} for fate in certificate.mutants]
    return found


def _renamed(frame: pl.DataFrame, ids: Mapping[str, str]) -> pl.DataFrame:
    """The rows of these examples, under the ids that they have now."""
    own = frame.filter(pl.col("example_id").is_in(list(ids)))
    return own.with_columns(pl.col("example_id").replace_strict(ids, return_dtype=pl.String))


def _certificates(
    outcomes: Sequence[Outcome], database: Database, profile: DatabaseProfile, sandbox: Sandbox, work: Work
) -> dict[str, Certificate]:
    """A certificate for each SQL that was made anew, with instances of its own."""
    made = (one for one in outcomes if one.fate != "rejected" and one.example.sql != one.history[0].example.sql)
    golds = sorted({one.example.sql for one in made})
    if not golds:
        return {}
    seed = seed_of(STAGE, database.content_hash)
    pool = certify(database, profile, golds, sandbox, work.root / INSTANCES / database.db_id, seed, prefix="aligned-")
    return {found.sql: found for found in pool.certificates}


def _row(row: Row, outcome: Outcome, home: Home, found: Certificate | None, sandbox: Sandbox) -> Row:
    """The row as it is now."""
    one, database = outcome.example, home.database
    new = row | {
        "question": one.question,
        "evidence": one.evidence or None,
        "alignment_method": outcome.fate,
        "alignment_score": outcome.score,
    }
    if one.sql != row["sql"]:
        facts = sql_facts(one.sql, database.dialect, home.profile.schema)
        [result] = execute([(database, one.sql)], sandbox)
        new |= {
            "sql": one.sql,
            **facts.stored(),
            "steps": [],  # those of the SQL that was wrong
            "order_matters": facts.order_matters,
            "tie_policy": "total_order" if facts.order_matters else "none",
            "alternatives": [],
            "result_digest": result.digest_if(facts.order_matters),
            "result_rows": result.row_count,
            "result_columns": result.column_count,
            "generator": MADE,
            **stored_columns(found),
        }
    if outcome.changed:
        new["example_id"] = id_of(database, new, new["sql"])
    return new


def _refused(row: Row, reason: str, detail: str) -> Row:
    return {
        "candidate_id": row["example_id"],
        "db_id": row["db_id"],
        "stage": STAGE,
        "reason": reason,
        "detail": detail,
        "sql": row["sql"],
        "question": row["question"],
        "shape": None,
    }
