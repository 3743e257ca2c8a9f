"""The conditions for publishing a version. Each check looks at the stored files, not at what a build said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from agro_data.databases.types import Database
from agro_data.diversity.splits import leaks
from agro_data.publish.read import Version
from agro_data.records import EXAMPLE
from agro_data.verify.replay import replay, replay_instances

REPLAYED = 200
NOT_CERTIFIED = "no certificates were asked for (certify is off)"
NAMED = 3  # offenders that a check names


@dataclass(frozen=True)
class Check:
    """`says` is what was found, in words, with some offenders; `figures` is the same in numbers."""

    name: str
    passed: bool
    says: str
    figures: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, offenders: Sequence[object], says: str, **figures: int) -> Check:
        """One that passes where there are no offenders, of which the first are named."""
        named = f"; for instance {', '.join(map(str, offenders[:NAMED]))}" if offenders else ""
        return cls(name, not offenders, f"{says}{named}", figures)


def check_version(version: Version, databases: Sequence[Database]) -> list[Check]:
    """All checks of `version`; `databases` are its sources (`sources_of`), on which stored SQL runs again.

    When its files are damaged only that is said: the other checks read them.
    """
    whole = files_are_whole(version)
    if not whole.passed:
        return [whole]
    examples = version.examples().collect()
    return [
        whole,
        columns_are_the_contracts(version),
        questions_are_unambiguous(examples),
        splits_do_not_leak(examples, str(version.manifest.get("split", {}).get("method", "skeleton"))),
        mutants_are_told_apart(version, examples),
        certificates_hold(version, examples),
        digests_replay(version, examples, databases),
    ]


def files_are_whole(version: Version) -> Check:
    """Files have the hashes of the manifest."""
    changed = version.verify_hashes()
    says = f"{len(version.manifest['files']):,} files, {len(changed):,} changed"
    return Check.of("files_are_whole", changed, says, changed_files=len(changed))


def columns_are_the_contracts(version: Version) -> Check:
    """Every column of an example is there with its type."""
    schema = version.examples().collect_schema()
    wrong = [name for name, kind in EXAMPLE.items() if schema.get(name) != kind]
    says = f"{len(EXAMPLE)} columns, {len(wrong)} of another type"
    return Check.of("columns_are_the_contracts", wrong, says, wrong_columns=len(wrong))


def questions_are_unambiguous(examples: pl.DataFrame) -> Check:
    """No two SQL of a database share a question with the same evidence."""
    keys = ("db_id", "question", "evidence")
    shared = examples.group_by(keys, maintain_order=True).agg(pl.col("sql").n_unique()).filter(pl.col("sql") > 1)
    found = list(map(repr, shared["question"]))
    says = f"{examples.height:,} questions, {len(found):,} with two SQL"
    return Check.of("questions_are_unambiguous", found, says, shared_questions=len(found))


def splits_do_not_leak(examples: pl.DataFrame, method: str) -> Check:
    """No database stands in two splits, or, where the split is by skeleton, no skeleton, question or literals."""
    found = _in_two_splits(examples, "db_id", "database") if method == "database" else leaks(examples)
    offenders = [f"{kind} {key!r} in {' and '.join(splits)}" for kind, key, splits in found.rows()]
    kinds = {f"{kind}s_in_two_splits": n for kind, n in found.group_by("kind", maintain_order=True).len().rows()}
    says = f"split by {method}, {found.height:,} leaks in {examples.height:,} rows"
    return Check.of("splits_do_not_leak", offenders, says, leaks=found.height, **kinds)


def mutants_are_told_apart(version: Version, examples: pl.DataFrame) -> Check:
    """Every example has the kill rate that the build asked for; without certificates there is nothing to hold."""
    config = version.manifest["config"]
    if not config.get("certify", True):
        return Check("mutants_are_told_apart", True, NOT_CERTIFIED)
    least = float(config.get("min_kill_rate", 0.0))  # a release before certificates asked for none
    to_kill = pl.col("mutants_total") - pl.col("mutants_equivalent")
    weak = examples.filter((to_kill > 0) & (pl.col("mutants_killed") < least * to_kill - 1e-9))["example_id"].to_list()
    return Check.of("mutants_are_told_apart", weak, f"{len(weak):,} of {examples.height:,} examples below {least:.0%}")


def certificates_hold(version: Version, examples: pl.DataFrame) -> Check:
    """A sample of stored SQL gives, on each instance it names, the digest of the index."""
    columns = ("example_id", "db_id", "dialect", "sql", "order_matters", "instances")
    sample = examples.select(columns).sample(min(REPLAYED, examples.height), seed=0)
    golds = sample.join(version.instances().drop("db_id").collect(), on="example_id", how="inner")
    named = int(sample["instances"].list.len().sum())
    if not named and not version.manifest["config"].get("certify", True):
        return Check("certificates_hold", True, NOT_CERTIFIED)
    differing = replay_instances(golds, version.path / "instances") if golds.height else []
    figures = {"examples": sample.height, "replayed": golds.height, "differing": len(differing)}
    if golds.height != named:
        differing = [*differing, f"an index with {golds.height:,} of {named:,} files"]
    says = f"{named:,} answers on instances of {sample.height:,} examples"
    return Check.of("certificates_hold", differing, says, **figures)


def digests_replay(version: Version, examples: pl.DataFrame, databases: Sequence[Database]) -> Check:
    """A sample of stored SQL gives its stored digest when run on its source again."""
    if version.private:
        return Check(
            "digests_replay", True, "the sources are surrogates, which no version keeps: see certificates_hold"
        )
    return replayed(examples, databases)


def replayed(examples: pl.DataFrame, databases: Sequence[Database]) -> Check:
    """As `digests_replay`, on the databases that the SQL was made for, whichever these are."""
    sample = examples.sample(min(REPLAYED, examples.height), seed=0)
    absent = sorted(set(sample["db_id"]) - {database.db_id for database in databases})
    if absent:
        return Check(
            "digests_replay",
            False,
            f"{len(absent):,} source databases are not at hand with the content of the build, such as {absent[0]}: "
            "say where they are with --databases",
        )
    differing = replay(sample, databases)
    says = f"{sample.height:,} stored SQL run again, {len(differing):,} gave another digest"
    return Check.of("digests_replay", differing, says, replayed=sample.height, differing=len(differing))


def sources_of(version: Version, folder: Path | None) -> list[Database]:
    """The databases of `version` below `folder`, told by content and called as in it; others are left out."""
    from agro_data.databases.discovery.catalog import find_databases  # noqa: PLC0415 (opens files; not for those who only check)

    if folder is None or not folder.exists():
        return []
    by_hash = {database.content_hash: database for database in find_databases(folder).databases}
    facts = [(fact["db_id"], fact["content_hash"]) for fact in version.manifest["databases"]]
    return [replace(by_hash[content], db_id=db_id) for db_id, content in facts if content in by_hash]


def _in_two_splits(rows: pl.DataFrame, key: str, kind: str) -> pl.DataFrame:
    """Values of `key` that stand in several splits, in the shape of `leaks`: kind, key, splits."""
    splits = rows.group_by(pl.col(key).alias("key")).agg(pl.col("split").unique().sort().alias("splits"))
    kinds = splits.select(pl.lit(kind).alias("kind"), "key", "splits")
    return kinds.filter(pl.col("splits").list.len() > 1).sort("key")
