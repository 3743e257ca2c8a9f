"""A version checked by Gen-as-Check, database by database: what is confirmed becomes the next version of its corpus.

A row keeps all that was known of it, with `alignment_method` `verified` or `judged` and the share of the answers that
agree as its `alignment_score`. New SQL gets facts, digest and a certificate of its own. A row that changed is held to
what was true of the corpus when it was chosen (`newcomers`): where it cannot be certified or cannot join the others, it
is rejected, too. What was rejected is kept beside the corpus, and every cycle and match in `alignment/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.alignment.cycles import CYCLE, Aligned, Rule, acceptance, check, log_of, summed
from agro_data.alignment.example import Home
from agro_data.alignment.judge import Judge
from agro_data.alignment.regenerate import Regenerator
from agro_data.alignment.solvers import Solver
from agro_data.alignment.tournament import MATCHES
from agro_data.databases.hostile.sandbox import Sandbox, own_sandbox
from agro_data.databases.types import Database, Result
from agro_data.diversity.decontamination import Exclusion, exclusion
from agro_data.fingerprint import example_id
from agro_data.hashing import seed_of, stable_hash
from agro_data.llm.accounting import Spending
from agro_data.profiling.profile import DatabaseProfile
from agro_data.progress import Reporter, counting, silent
from agro_data.publish.read import Version, inherited
from agro_data.publish.summary import NOT_CHOSEN, SPLITS
from agro_data.publish.version import MUTANTS, Beside, Instances, NotWritten, write_version
from agro_data.records import EXAMPLE, INSTANCE_INDEX, REJECTED, conform, rejection, rows
from agro_data.software import code_version
from agro_data.sql.facts import sql_facts
from agro_data.stages.newcomers import Homes, Refusal, refusals
from agro_data.stages.shard.certified import mutant_row, stored_columns
from agro_data.verify.certificates.certifier import Certifier
from agro_data.verify.certificates.pool import LIMITS, Certificate
from agro_data.verify.execution import execute, failure
from agro_data.work import Work

STAGE = "alignment"
MADE = "alignment"  # the generator of SQL that came of it
INSTANCES = "instances"

Row = dict[str, Any]


@dataclass(frozen=True)
class Referees:
    """The checkers: solvers, the rule, the judge, and the model that makes parts anew. `facts` are what a manifest says
    of them, `spent` what their client counts by stage.

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

    `databases` are the version's, by id; `sandbox` has the limits with which its SQL was verified. A database that is
    finished is not checked again by a later call with the same referees. Raises `UnreadableExclusion` when a file is
    gone that the version was to hold nothing of, `NotWritten` when nothing is confirmed, and like `write_version`.
    """
    identity = stable_hash([version.fingerprint, referees.described(), code_version()])
    work = Work(cache / STAGE / identity[:16])
    excluded = exclusion([Path(path) for path in version.manifest["config"].get("exclude", ())])
    frame = version.examples().sort("example_id").collect()
    by_skeleton = version.manifest.get("split", {}).get("method", "skeleton") == "skeleton"
    elsewhere = Homes() if by_skeleton else None  # else what other databases say is nothing to one
    if elsewhere is not None:
        elsewhere.add(frame)
    course = _Course(version, version.all_mutants(), excluded, elsewhere, referees, sandbox, work)
    add = counting(progress, "alignment", frame.height, "examples")
    parts = {str(db_id): own for (db_id,), own in frame.partition_by("db_id", as_dict=True).items()}
    shards = sorted(parts)
    for db_id in shards:
        if elsewhere is not None:
            elsewhere.remove(parts[db_id])
        if not work.finished("kept", db_id):
            _align(course, parts[db_id], *databases[db_id])
        if elsewhere is not None:
            elsewhere.add(work.read("kept", db_id))
        add(parts[db_id].height)
    kept = _all(work, "kept", shards, EXAMPLE)
    counts = summed([work.read("acceptance", shard) for shard in shards]).to_dicts()
    if not kept["answerable"].any():
        raise NotWritten(_why_empty(version, work, counts))
    index = _all(work, "index", shards, INSTANCE_INDEX)
    files = _files(version, work.root / INSTANCES, index)
    return write_version(
        out,
        version.corpus,
        fingerprint=identity,
        examples=kept,
        rejected=pl.concat([version.rejected().collect().select(list(REJECTED)), work.read_rejected("kept")]),
        manifest=_manifest(version, referees, kept, counts),
        beside=Beside(
            Instances(files, index, _all(work, "mutants", shards, MUTANTS)),
            profiles=version.profiles(),
            tables={
                "alignment/cycles.parquet": _all(work, "cycles", shards, CYCLE),
                "alignment/matches.parquet": _all(work, "matches", shards, MATCHES),
            },
        ),
    )


def _files(version: Version, made: Path, index: pl.DataFrame) -> dict[str, Path]:
    """Where each instance of the index lies: among those `made` for new SQL, or in the version."""
    names = index["file"].unique().sort()
    return {name: made / name if (made / name).is_file() else version.path / INSTANCES / name for name in names}


def _why_empty(version: Version, work: Work, counts: Sequence[Row]) -> str:
    reasons = work.read_rejected("kept")["reason"].value_counts().sort("count", "reason", descending=[True, False])
    said = ", ".join(f"{reason} {count:,}" for reason, count in reasons.iter_rows())
    asked = sum(one["examples"] for one in counts)
    return (
        f"{version.corpus} {version.name}: none of {asked:,} examples is confirmed ({said}), so no version is "
        f"written; ask solvers that answer better, or let fewer answers be needed. The log is in {work.root / 'cycles'}"
    )


def _manifest(version: Version, referees: Referees, kept: pl.DataFrame, counts: list[Row]) -> dict[str, Any]:
    old = version.manifest
    same = inherited(old) | {key: old[key] for key in ("config", "databases")}
    if "split" in old:
        rows_of = {split: kept.filter(pl.col("split") == split).height for split in SPLITS}
        same["split"] = old["split"] | {"counts": rows_of}
    if NOT_CHOSEN in old["counts"]:
        same["counts"] = {NOT_CHOSEN: old["counts"][NOT_CHOSEN]}
    return {
        **same,
        "parent": version.name,
        "funnel": [*old["funnel"], {"stage": STAGE, "rows": kept.height}],
        "alignment": {"of": version.name, **referees.described(), "acceptance": counts},
    }


def _all(work: Work, stage: str, shards: Sequence[str], schema: pl.Schema) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=schema), *(work.read(stage, shard) for shard in shards)])


# --- one database --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Course:
    """An alignment on its way: `mutants` are all of the version's, `excluded` what it may not hold, `elsewhere` what
    the databases say that are not being checked: those before as they are kept now, those to come as they were.
    """

    version: Version
    mutants: pl.DataFrame
    excluded: Exclusion
    elsewhere: Homes | None
    referees: Referees
    sandbox: Sandbox
    work: Work


@dataclass
class _Ended:
    """A row that was checked, and what became of it: `new` is the row now, which may be `refused`; solvers that
    reject it make none."""

    row: Row
    outcome: Aligned
    new: Row = field(default_factory=dict)
    certificate: Certificate | None = None  # of new SQL
    refused: Refusal | None = None

    @property
    def settled(self) -> Aligned:
        """The outcome, rejected where the row is refused in the end."""
        return self.outcome if self.refused is None else replace(self.outcome, fate="rejected")


def _align(course: _Course, frame: pl.DataFrame, database: Database, profile: DatabaseProfile) -> None:
    """Check `frame`, the rows of one database, and store the kept rows, the refused ones, and the log; `kept` last."""
    referees, work, shard = course.referees, course.work, database.db_id
    names = frame["instances"].explode().drop_nulls().to_list()
    home = Home.of(database, profile, course.version.path / INSTANCES, names)
    checked = frame.filter(pl.col("answerable")).to_dicts()
    left = frame.filter(~pl.col("answerable")).to_dicts()  # nobody is asked about them
    referees.regenerate.tournaments.clear()
    outcomes = check(
        [home.example(row) for row in checked],
        referees.solvers,
        referees.rule,
        course.sandbox,
        judge=referees.judge,
        regenerate=referees.regenerate,
    )
    ended = _ended(checked, outcomes, home, course)
    _refuse(ended, left, course)
    played = [match for one in referees.regenerate.tournaments for match in one.rows()]
    index, mutants = _certified(ended, left, course, shard)
    work.write("index", shard, index)
    work.write("mutants", shard, mutants)
    work.write("cycles", shard, log_of(outcomes))
    work.write("acceptance", shard, acceptance([one.settled for one in ended]))
    work.write("matches", shard, pl.DataFrame(played, schema=MATCHES, orient="row"))
    kept = pl.DataFrame([*left, *(one.new for one in ended if one.refused is None)], schema=EXAMPLE, orient="row")
    refused = rows([_refused(one, *one.refused) for one in ended if one.refused is not None], REJECTED)
    work.write("kept", shard, conform(kept, EXAMPLE), refused)


def _ended(checked: Sequence[Row], outcomes: Sequence[Aligned], home: Home, course: _Course) -> list[_Ended]:
    """The outcome for each row by itself: checked, and certified if its SQL is new."""
    found = [_Ended(row, outcome) for row, outcome in zip(checked, outcomes, strict=True)]
    made = [one for one in found if one.outcome.fate != "rejected" and one.outcome.example.sql != one.row["sql"]]
    golds = sorted({one.outcome.example.sql for one in made})
    certificates = dict(zip(golds, _certificates(golds, home, course), strict=True))
    results = dict(zip(golds, execute([(home.database, sql) for sql in golds], course.sandbox), strict=True))
    for one in found:
        sql = one.outcome.example.sql
        if one.outcome.fate == "rejected":
            one.refused = one.outcome.reason, one.outcome.detail
            continue
        one.new = _row(one.row, one.outcome)
        if sql != one.row["sql"]:
            one.certificate = certificates[sql]
            one.new |= _new_sql(sql, results[sql], one.certificate, home)
            if not results[sql].ok:
                one.refused = failure(results[sql])
            elif not one.certificate.ok:
                one.refused = one.certificate.reason, one.certificate.detail
        if one.outcome.changed:
            one.new["example_id"] = example_id(home.database.content_hash, one.new, sql)
    return found


def _certificates(golds: Sequence[str], home: Home, course: _Course) -> Sequence[Certificate]:
    """A certificate for each SQL that was made anew, with instances of its own, named as no other version names any."""
    if not golds:
        return ()
    certifier = Certifier(
        home.database,
        home.profile,
        own_sandbox(LIMITS),
        course.work.root / INSTANCES / home.database.db_id,
        seed_of(STAGE, home.database.content_hash),
        prefix=f"aligned-{course.work.root.name[:8]}-",
        min_kill_rate=course.version.min_kill_rate,
    )
    return certifier.certify(golds).certificates


def _row(row: Row, outcome: Aligned) -> Row:
    """The row as it is now, but for what follows from new SQL."""
    return row | {
        "question": outcome.example.question,
        "evidence": outcome.example.evidence or None,
        "alignment_method": outcome.fate,
        "alignment_score": outcome.score,
    }


def _new_sql(sql: str, result: Result, certificate: Certificate, home: Home) -> Row:
    """What a row says of SQL that was made anew."""
    facts = sql_facts(sql, home.database.dialect, home.profile.schema)
    return {
        "sql": sql,
        **facts.stored(),
        "steps": [],  # they belong to the wrong SQL
        "order_matters": facts.order_matters,
        "tie_policy": facts.tie_policy,
        "alternatives": [],
        "result_digest": result.digest_if(facts.order_matters),
        "result_rows": result.row_count,
        "result_columns": result.column_count,
        "generator": MADE,
        **stored_columns(certificate),
    }


def _refuse(ended: Sequence[_Ended], left: Sequence[Row], course: _Course) -> None:
    """Refuse changed rows that cannot join the unchanged rows of this database or, where splits are by skeleton, the
    rows of other databases.
    """
    held = [one for one in ended if one.refused is None]
    changed = [one for one in held if one.outcome.changed]
    if not changed:
        return
    same = [*left, *(one.new for one in held if not one.outcome.changed)]
    found = refusals(
        pl.DataFrame([one.new for one in changed], schema=EXAMPLE, orient="row"),
        pl.DataFrame(same, schema=EXAMPLE, orient="row"),
        course.excluded,
        course.elsewhere,
    )
    for one, refusal in zip(changed, found, strict=True):
        one.refused = refusal


def _certified(
    ended: Sequence[_Ended], left: Sequence[Row], course: _Course, shard: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The index of instances and the mutants of the rows that are kept: as they were, and of new SQL."""
    held = [one for one in ended if one.refused is None]
    same = [row["example_id"] for row in left] + [reading["reading_id"] for row in left for reading in row["readings"]]
    ids = dict(zip(same, same, strict=True))
    ids |= {one.row["example_id"]: one.new["example_id"] for one in held if one.certificate is None}
    index: list[Row] = []
    mutants: list[Row] = []
    for one in held:
        if one.certificate is not None:
            own = {"db_id": shard, "example_id": one.new["example_id"]}
            pairs = zip(one.certificate.instances, one.certificate.digests, strict=True)
            index += [{**own, "file": file, "gold_digest": digest} for file, digest in pairs]
            mutants += [{"example_id": own["example_id"], **mutant_row(fate)} for fate in one.certificate.mutants]
    stored = course.version.instances().filter(pl.col("db_id") == shard).collect()
    fates = course.mutants.select(list(MUTANTS))
    return (
        pl.concat([_renamed(stored, ids), rows(index, INSTANCE_INDEX)]),
        pl.concat([_renamed(fates, ids), rows(mutants, MUTANTS)]),
    )


def _renamed(frame: pl.DataFrame, ids: Mapping[str, str]) -> pl.DataFrame:
    """The rows of these examples, under the ids that they have now."""
    own = frame.filter(pl.col("example_id").is_in(list(ids)))
    return own.with_columns(pl.col("example_id").replace_strict(ids, return_dtype=pl.String))


def _refused(one: _Ended, reason: str, detail: str) -> Row:
    """A row of `REJECTED`, with what was refused: the row as it became, or as it came in."""
    return rejection((one.new or one.row) | {"example_id": one.row["example_id"]}, STAGE, reason, detail)
