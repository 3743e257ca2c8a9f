"""Checks that stand between the stages and the corpus. A blocking one that fails stops what is to its right."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
from polars.exceptions import PolarsError

from agro_data.databases.errors import first_line
from agro_data.defs.place import Place, project_root
from agro_data.pipeline import open_work
from agro_data.publish.publication import checks as stored
from agro_data.publish.publication.checks import Check
from agro_data.publish.read import MEND, NoVersion, Version, open_version
from agro_data.stages import tally
from agro_data.stages.context import Context
from agro_data.stages.finish import SELECTION

MOST_LOST = 0.2  # share of databases that may give nothing before the run stops
NAMED = 5  # offenders that a reason names
QUOTED = r"'[^']*'|\"[^\"]*\"|“[^”]*”"
DAMAGE = (NoVersion, PolarsError, FileNotFoundError)  # what reading a version raises that is not whole
SNAKE_CASE = r"\b[a-z]+_[a-z]+\b"


@dg.asset_check(asset="verified", blocking=True)
def databases_contribute(verified: str, place: Place) -> dg.AssetCheckResult:
    """At least four in five of the usable databases gave verified SQL."""
    work = open_work(Path(verified), place.cache).work
    usable: list[str] = work.read_json("usable.json")
    shards = tally.by_database(work, "verified")
    given = {db_id for db_id, held in shards.items() if tally.rows(work, "verified", held)}
    silent = [db_id for db_id in usable if db_id not in given]
    return result(
        len(silent) <= MOST_LOST * len(usable) and bool(given),
        f"{len(given):,} of {len(usable):,} databases gave verified SQL",
        f"; nothing from {_named(silent)}: see why in the asset's rejected rows" if silent else "",
        databases=len(usable),
        without_verified_sql=len(silent),
    )


@dg.asset_check(asset="selection", blocking=True)
def questions_are_unambiguous(selection: str, place: Place) -> dg.AssetCheckResult:
    """No two SQL of a database share a question with its evidence, and no question shows a snake_case name."""
    rows = open_work(Path(selection), place.cache).work.read("selection", SELECTION)
    return _told(stored.questions_are_unambiguous(rows), no_snake_case(rows))


def no_snake_case(rows: pl.DataFrame) -> Check:
    """No question shows a snake_case name, but within quotes."""
    spoken = pl.col("question").str.replace_all(QUOTED, "")
    found = list(map(repr, rows.filter(spoken.str.contains(SNAKE_CASE))["question"]))
    return Check.of("no_snake_case", found, f"{len(found):,} with a snake_case name", snake_case_questions=len(found))


@dg.asset_check(asset="selection", blocking=True)
def splits_do_not_leak(selection: str, place: Place) -> dg.AssetCheckResult:
    """No database stands in two splits, or, where the split is by skeleton, no skeleton, question or literals."""
    work = open_work(Path(selection), place.cache).work
    method = work.read_json("selection/figures.json")["split"]["method"]
    return _told(stored.splits_do_not_leak(work.read("selection", SELECTION), method))


@dg.asset_check(asset="selection")
def as_many_as_asked(selection: str, place: Place) -> dg.AssetCheckResult:
    """The selection has the size asked for. Fewer rows are a warning: what there is becomes the corpus."""
    context = open_work(Path(selection), place.cache)
    report = context.work.read_json("selection/figures.json")["selection"]
    given = context.work.read("selection", SELECTION).height
    short = given < context.config.size
    return result(
        not short,
        f"{given:,} rows of {context.config.size:,} asked for",
        f"; limited by {report['limiting'] or 'what the databases can give'}" if short else "",
        severity=dg.AssetCheckSeverity.WARN,
        asked=context.config.size,
        given=given,
    )


@dg.asset_check(asset="corpus", blocking=True)
def corpus_is_whole(corpus: str) -> dg.AssetCheckResult:
    """Files have the hashes of the manifest, and every column is of the contract's type."""
    return _looked(corpus, _whole)


@dg.asset_check(asset="corpus", blocking=True, additional_ins={"selection": dg.AssetIn("selection")})
def stored_digests_replay(corpus: str, selection: str, place: Place) -> dg.AssetCheckResult:
    """A sample of stored SQL gives its stored digest when run again."""

    def replay(version: Version) -> list[Check]:
        examples = version.examples().collect()
        # The cache may have been emptied; or a later build chose rows, and did not get as far as a version.
        build = open_work(Path(selection), place.cache) if Path(selection).is_dir() else None
        if build is None or not _made(build, version):
            source = project_root() / Path(version.manifest["config"]["databases"]).expanduser()
            return [stored.digests_replay(version, examples, stored.sources_of(version, source))]
        return [stored.replayed(examples, build.unchanged())]

    return _looked(corpus, replay)


@dg.asset_check(asset="corpus", blocking=True)
def certificates_hold(corpus: str) -> dg.AssetCheckResult:
    """A sample of stored SQL gives, on each instance it names, the digest that the index has for it."""
    return _looked(corpus, lambda version: [stored.certificates_hold(version, version.examples().collect())])


CHECKS = [
    databases_contribute,
    questions_are_unambiguous,
    splits_do_not_leak,
    as_many_as_asked,
    corpus_is_whole,
    stored_digests_replay,
    certificates_hold,
]


def _made(build: Context, version: Version) -> bool:
    """Whether `version` was written from the work folder of `build`."""
    built = {source["db_id"]: source["content_hash"] for source in build.work.read_json("sources.json")}
    same = all(built.get(fact["db_id"]) == fact["content_hash"] for fact in version.manifest["databases"])
    return same and bool(version.manifest["config"] == build.work.read_json("build.json")["config"])


def _whole(version: Version) -> list[Check]:
    whole = stored.files_are_whole(version)
    return [whole, *([stored.columns_are_the_contracts(version)] if whole.passed else [])]


def _looked(corpus: str, look: Callable[[Version], list[Check]]) -> dg.AssetCheckResult:
    """What `look` finds in a version. One that cannot be read fails the check, which stumbles over nothing."""
    try:
        return _told(*look(open_version(Path(corpus))))
    except DAMAGE as error:
        return result(False, f"{corpus} cannot be read: {first_line(error)}", f"; {MEND}")


def _told(*found: Check) -> dg.AssetCheckResult:
    """What is also looked at before a version is published."""
    figures: dict[str, Any] = {name: number for one in found for name, number in one.figures.items()}
    return result(all(one.passed for one in found), "; ".join(one.says for one in found), "", **figures)


def _named(offenders: Sequence[str]) -> str:
    more = f" and {len(offenders) - NAMED:,} more" if len(offenders) > NAMED else ""
    return ", ".join(repr(one) for one in offenders[:NAMED]) + more


def result(
    passed: bool,
    found: str,
    offenders: str,
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
    **figures: Any,
) -> dg.AssetCheckResult:
    """The result says what was found, whether the check passed or not; it names offenders, also in the log."""
    reason = f"{found}{offenders}"
    if not passed:
        dg.get_dagster_logger().log(
            logging.WARNING if severity == dg.AssetCheckSeverity.WARN else logging.ERROR, reason
        )
    readable = {name.replace("_", " "): value for name, value in figures.items()}
    return dg.AssetCheckResult(passed=passed, severity=severity, description=reason, metadata=readable)
