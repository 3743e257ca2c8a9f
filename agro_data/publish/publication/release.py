"""The folder that is published: a version's rows in the form the Hub shows, without what may not leave the house.

The version itself never changes. A release is made from it and from what a person declares: the licence of the rows,
the licence of every source database, whose instances may be shared, and what is done with personal data. The same
version and declaration give the same bytes, so that an interrupted publication is continued by making it again.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import polars as pl

from agro_data.config import ConfigError
from agro_data.databases.types import Database
from agro_data.hashing import file_hash
from agro_data.publish.parquet import write_parquet, write_shards
from agro_data.publish.publication.checks import Check
from agro_data.publish.publication.hub_card import PLOTS, render_hub_card
from agro_data.publish.publication.licenses import HUB, dropped
from agro_data.publish.publication.personal import personal_rows, scan_files
from agro_data.publish.publication.private import PrivateColumn, published_private
from agro_data.publish.read import CERTIFICATE, Version
from agro_data.publish.report import render_report
from agro_data.publish.schema import schema_texts
from agro_data.publish.summary import SPLITS, summarise
from agro_data.records import EXAMPLE

PersonalData = Literal["refuse", "drop", "keep"]

LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]{1,63}")
PLACE = re.compile(r"(vllm:)?[/~.]")  # how the name of a model begins that is a folder; others are Hub ids
EVERY = "*"  # stands for all databases in a declaration
SMALL = ("question", "sql", "schema", "db_id", "hardness", "evidence", "example_id")
SHARD = 10_000  # rows of one file


@dataclass(frozen=True)
class Declaration:
    """What only a person can say. `source_licenses` maps a `db_id` (or `EVERY`) to a licence, `share` names the
    databases whose instances, which hold values of the source, may be published.

    A licence is written as the Hub's: `apache-2.0`, `cc-by-sa-4.0`, or `other`; capitals are made small. Raises
    `ConfigError` for a policy of personal data that is none.
    """

    license: str = ""
    source_licenses: Mapping[str, str] = field(default_factory=dict)
    share: frozenset[str] = frozenset()
    personal_data: PersonalData = "refuse"

    def __post_init__(self) -> None:
        if self.personal_data not in get_args(PersonalData):
            policies = ", ".join(get_args(PersonalData))
            raise ConfigError(f"personal_data is {self.personal_data!r}: use {policies}")
        given = {db_id: license_.strip().lower() for db_id, license_ in self.source_licenses.items()}
        object.__setattr__(self, "source_licenses", given)
        object.__setattr__(self, "license", self.license.strip().lower())

    def licenses_of(self, db_ids: Sequence[str]) -> dict[str, str]:
        """The licence of each source. Raises `ConfigError` for all that is not declared, and for what names nothing."""
        for license_ in (self.license, *self.source_licenses.values()):
            if license_ and not LICENSE.fullmatch(license_):
                raise ConfigError(f"licence {license_!r}: write it as the Hub does, such as apache-2.0 or cc-by-sa-4.0")
        if self.license and self.license not in HUB:
            raise ConfigError(f"licence {self.license!r} is none that the Hub takes: give one of its list, or `other`")
        unknown = sorted((set(self.source_licenses) | self.share) - set(db_ids) - {EVERY})
        if unknown:
            raise ConfigError(f"{unknown[0]}: there is no such database in this version ({len(unknown)} such names)")
        found = {db_id: self.source_licenses.get(db_id, self.source_licenses.get(EVERY, "")) for db_id in db_ids}
        lacking: list[str] = []
        if not self.license:
            lacking.append("no licence: say under which one the rows are published, such as --license cc-by-sa-4.0")
        if silent := [db_id for db_id, license_ in found.items() if not license_]:
            lacking.append(
                f"no licence is declared for {len(silent):,} of {len(db_ids):,} source databases, such as {silent[0]}: "
                f"--source-license {silent[0]}=LICENSE, or --source-license LICENSE where all have the same"
            )
        if lacking:
            raise ConfigError("; ".join(lacking))
        return found

    def warnings(self, db_ids: Sequence[str]) -> tuple[str, ...]:
        """Conditions of sources that the licence of the rows drops, once for each licence: whether rows that ask about
        a database are derived from it is not for a program to say."""
        sources: dict[str, list[str]] = defaultdict(list)
        for db_id, license_ in self.licenses_of(db_ids).items():
            sources[license_].append(db_id)
        return tuple(
            f"{license_} of {len(names):,} source databases, such as {names[0]}, {lost}; {self.license} of the rows "
            "drops that: see that you may"
            for license_, names in sources.items()
            if (lost := dropped(license_, self.license))
        )

    def shares(self, db_id: str) -> bool:
        """Whether the instances of this database may be published."""
        return db_id in self.share or EVERY in self.share


def make_release(
    version: Version,
    folder: Path,
    declared: Declaration,
    checks: Sequence[Check],
    databases: Sequence[Database] = (),
) -> dict[str, Any]:
    """Fill the empty folder `folder` with what is published of `version`; return the manifest that it holds.

    `databases` are the sources, as far as they are at hand: their schemas are published beside the questions. Columns
    that are private of people stand in the manifest, and refuse nothing. Raises `ConfigError` when something was not
    declared, a check did not pass, or personal data is found and `declared.personal_data` is `refuse`.
    """
    failed = [check for check in checks if not check.passed]
    if failed or not checks:
        reasons = "; ".join(f"{check.name}: {check.says}" for check in failed) or "no check was made"
        raise ConfigError(f"{version.name}: only a version whose checks all passed is published. {reasons}")
    sources = version.db_ids
    licenses = declared.licenses_of(sources)
    examples = version.examples().sort("example_id").collect()
    rejected = version.rejected().collect()
    ids = frozenset([*_certified(examples)["example_id"], *rejected["candidate_id"]])
    dropped = {"examples": 0, "rejected": 0, "instances": 0}
    if declared.personal_data == "drop":
        examples, dropped["examples"] = _without(examples, ids)
        rejected, dropped["rejected"] = _without(rejected, ids)
        if examples.is_empty():
            raise ConfigError(f"{version.name}: every example holds personal data; nothing is left to publish")
    _write_rows(folder, examples, rejected, schema_texts(version, databases))
    dropped["instances"] = _copy_instances(version, folder, declared, examples, ids)
    there = pl.read_parquet(folder / "instances" / "index.parquet").unique("file")["db_id"].to_list()
    manifest = _manifest(version, declared, licenses, checks, examples, rejected, Counter(there))
    shown = _Shown(version.path, manifest, examples, pl.read_parquet(folder / "instances" / "mutants.parquet"))
    (folder / "report.html").write_text(render_report(shown), encoding="utf-8")
    found = scan_files(folder, sorted(_names(folder)), ids)
    private = published_private(version, examples, Counter(there), databases)
    manifest["personal_data"] = {
        "policy": declared.personal_data,
        "found": found,
        "dropped": dropped,
        "columns": [asdict(one) for one in private],
    }
    if found and declared.personal_data != "keep":
        raise ConfigError(_personal(version, found, declared.personal_data, private))
    (folder / "README.md").write_text(render_hub_card(manifest, examples, _draw(shown, folder)), encoding="utf-8")
    manifest["files"] = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": file_hash(folder / name)}
        for name in sorted(_names(folder))
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    late = scan_files(folder, ["README.md", "manifest.json"])
    if late and declared.personal_data != "keep":
        raise ConfigError(_personal(version, late, declared.personal_data, private))
    return manifest


@dataclass(frozen=True)
class _Shown(Version):
    """The version as far as it is published, for the report."""

    published: dict[str, Any]
    rows: pl.DataFrame
    fates: pl.DataFrame

    @property
    def manifest(self) -> dict[str, Any]:
        return self.published

    def examples(self, split: str | None = None) -> pl.LazyFrame:
        return self.rows.lazy() if split is None else self.rows.lazy().filter(pl.col("split") == split)

    def all_mutants(self) -> pl.DataFrame:
        return self.fates


def _without(frame: pl.DataFrame, ids: Collection[str]) -> tuple[pl.DataFrame, int]:
    """The rows without personal data, and how many had some."""
    kept = frame.filter(~personal_rows(frame, ids))
    return kept, frame.height - kept.height


def _write_rows(folder: Path, examples: pl.DataFrame, rejected: pl.DataFrame, schemas: Mapping[str, str]) -> None:
    """`data/`: what most people train with; `certificate/`: the whole rows; `rejected/`: what was dropped and why."""
    schema = pl.col("db_id").replace_strict(schemas, default=None, return_dtype=pl.String).alias("schema")
    for split in SPLITS:
        rows = examples.filter(pl.col("split") == split)
        if rows.height:  # `load_dataset` cannot build a split without rows
            plain = rows.filter(pl.col("answerable"))  # what is hidden, and all readings, stand in the whole rows
            if plain.height:
                write_shards(plain.with_columns(schema).select(SMALL), folder / "data", split, shard=SHARD)
            write_shards(rows.select(list(EXAMPLE)), folder / CERTIFICATE, split, shard=SHARD)
    write_shards(rejected, folder / "rejected", "rejected", shard=SHARD)


def _certified(examples: pl.DataFrame) -> pl.DataFrame:
    """`db_id` and the ids under which certificates stand: of examples, and of the readings of those with several."""
    readings = examples.select("db_id", "readings").explode("readings")
    readings = readings.select("db_id", pl.col("readings").struct.field("reading_id").alias("example_id"))
    return pl.concat([examples.select("db_id", "example_id"), readings.drop_nulls()]).unique("example_id")


def _copy_instances(
    version: Version, folder: Path, declared: Declaration, examples: pl.DataFrame, ids: Collection[str]
) -> int:
    """Copy the instances that may be shared, with their index and mutants; return how many personal data kept back.

    The row that tells a mutant from its gold is one of an instance: it is given away where the instances are.
    """
    target = folder / "instances"
    target.mkdir()
    certified = _certified(examples)
    index = version.instances().collect().join(certified, on="example_id", how="semi")
    shared = sorted({str(file) for db_id, file in index.select("db_id", "file").iter_rows() if declared.shares(db_id)})
    for name in shared:
        (target / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(version.path / "instances" / name, target / name)
    kept_back: set[str] = set()
    if declared.personal_data == "drop":
        kept_back = set(scan_files(target, shared, ids))
        for name in kept_back:
            (target / name).unlink()
    there = sorted(set(shared) - kept_back)
    kept = index.filter(pl.col("file").is_in(there))
    write_parquet(kept.sort(kept.columns), target / "index.parquet")
    mutants = version.all_mutants().join(certified, on="example_id", how="semi", maintain_order="left")
    mutants = mutants.with_columns(pl.when(pl.col("by").is_in(there)).then("difference").alias("difference"))
    if declared.personal_data == "drop":
        mutants, _ = _without(mutants, ids)
    write_parquet(mutants, target / "mutants.parquet")
    return len(kept_back)


def _manifest(
    version: Version,
    declared: Declaration,
    licenses: Mapping[str, str],
    checks: Sequence[Check],
    examples: pl.DataFrame,
    rejected: pl.DataFrame,
    instances: Mapping[str, int],
) -> dict[str, Any]:
    """The version's manifest as it is published: with what was declared, how many `instances` of each database come
    along, and without places on the machine of the build.
    """
    given = dict(version.manifest)
    config = dict(given["config"])
    config["databases"] = PurePath(str(config.get("databases", ""))).name
    config["exclude"] = [PurePath(one).name for one in config.get("exclude", [])]
    config |= {key: PurePath(config.get(key, "")).name for key in ("query_log", "focus")}
    config |= {key: _called(config[key]) for key in ("writer", "embedding_model") if key in config}
    sources = [
        entry
        | {"license": licenses[entry["db_id"]], "shareable": declared.shares(entry["db_id"])}
        | {"instances": instances.get(entry["db_id"], 0)}
        for entry in given["databases"]
    ]
    if "alignment" in given:
        given["alignment"] = _called(given["alignment"])
    return given | {
        "config": config,
        "databases": sources,
        "problems": [],  # they name files of the machine
        "license": declared.license,
        "checks": [{"name": check.name, "passed": check.passed, "says": check.says} for check in checks],
        "counts": given["counts"] | summarise(examples, rejected),
        "built": {"files": len(given["files"]), "examples": given["counts"]["examples"]},
    }


def _called(said: Any) -> Any:
    """The facts about models, with names that may be published: Hub ids as they are, a folder by its name, a server by
    its model.
    """
    if isinstance(said, Mapping):
        return {key: _called(value) for key, value in said.items()}
    if isinstance(said, list | tuple):
        return [_called(one) for one in said]
    if not isinstance(said, str):
        return said
    if said.startswith("{"):  # settings of an engine
        return json.dumps(_called(json.loads(said)), sort_keys=True)
    if said.startswith(("http://", "https://")):
        address, _, model = said.partition("#")
        return _called(model) or PurePath(urlsplit(address).path).name or "server"
    return PurePath(said).name if PLACE.match(said) else said


def _draw(shown: Version, folder: Path) -> dict[str, str]:
    """Draw the plots of the card; return their paths by title. They show counts and names, no row."""
    from agro_data.publish import plots  # noqa: PLC0415 (loads matplotlib)

    (folder / PLOTS).mkdir()
    paths: dict[str, str] = {}
    for name, png in plots.of_version(shown).items():
        path = f"{PLOTS}/{name}.png"
        (folder / path).write_bytes(png)
        paths[name.replace("_", " ").capitalize()] = path
    return paths


def _names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _personal(
    version: Version,
    found: Mapping[str, Mapping[str, int]],
    policy: PersonalData,
    private: Sequence[PrivateColumn],
) -> str:
    totals: dict[str, int] = {}
    for kinds in found.values():
        for kind, count in kinds.items():
            totals[kind] = totals.get(kind, 0) + count
    said = ", ".join(f"{count:,} {kind}" for kind, count in sorted(totals.items()))
    remedy = (
        "Look at them; then --personal-data drop leaves out the rows and instances that hold some, keep publishes them"
        if policy == "refuse"
        else "It stands in what is no row; build again without its source"
    )
    stands = f"{version.name}: personal data in {len(found):,} files ({said}), first in {next(iter(found))}. {remedy}"
    return "; ".join([stands, *(column.says for column in private)])
