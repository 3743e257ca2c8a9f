"""The version writer: a corpus version appears whole or not at all, and never changes afterwards.

Everything is written to a hidden folder beside the versions, synced, and renamed into place; a writer that is
killed leaves only the hidden folder, which the next writer, holding the lock, removes.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from agro_data.databases.discovery.catalog import VERSION_NAME
from agro_data.errors import InWords
from agro_data.faults import NO_SPACE
from agro_data.files import free_bytes, replace_text, sync_folder, sync_tree, write_text
from agro_data.hashing import file_hash
from agro_data.publish.card import render_card
from agro_data.publish.lock import writing
from agro_data.publish.parquet import write_parquet, write_shards
from agro_data.publish.read import MEND, NoVersion, Version, list_versions
from agro_data.publish.summary import SPLITS, summarise
from agro_data.records import EXAMPLE, INSTANCE_INDEX, MUTANT, REJECTED, conform
from agro_data.software import library_versions

log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
DRAFT = ".writing-"
REQUIRED = ("config", "databases", "funnel", "seeds")
RECORDED = (  # libraries whose versions a manifest says
    *("agro-sql", "polars", "pyarrow", "duckdb", "sqlglot", "numpy"),
    *("faiss-cpu", "faker", "sentence-transformers", "torch"),
)
MUTANTS = pl.Schema({"example_id": pl.String, **dict(MUTANT.to_schema())})


class NotWritten(InWords, RuntimeError):
    """The version could not be written; nothing of it is visible."""


@dataclass(frozen=True)
class Instances:
    """Augmented databases to ship: `files` maps "<db_id>/<name>" to what to copy, `index` names the golds, `mutants`
    says what became of each mutant of each gold (`records.MUTANT`).
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    index: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=INSTANCE_INDEX))
    mutants: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=MUTANTS))


@dataclass(frozen=True)
class Beside:
    """What a version holds beside its rows.

    `profiles` are texts by `db_id`: what each database was when the version was made, so that it can be told later what
    has changed (`agro_data.migration`). `tables` are further frames by where they go below the version, such as the log
    of `alignment`; a release leaves them out.
    """

    instances: Instances = field(default_factory=Instances)
    profiles: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def write_version(
    root: Path,
    name: str,
    *,
    fingerprint: str,
    examples: pl.DataFrame,
    rejected: pl.DataFrame,
    manifest: Mapping[str, Any],
    beside: Beside | None = None,
    wait_seconds: float = 60.0,
) -> Path:
    """Write a version of corpus `name`; return its folder `root/name/v<NNNN>-<fingerprint 8 hex>`.

    `examples` has the columns of `records.EXAMPLE`, `rejected` of `records.REJECTED`. `manifest` gives at
    least `config` (repeats the build), `databases` (each with `db_id`, `relative_path`, `content_hash` and
    `shareable`; `tables` and `columns` allow coverage), `funnel` (in order, each with `stage` and `rows`) and
    `seeds`. Counts (beside those given), files, library versions, parent, names and the dataset card are added here.

    A version with this fingerprint that is already there is returned unchanged. `latest` names the newest.
    Raises `ValueError` for input that does not fit, `locking.Locked` when another writer holds the corpus for
    longer than `wait_seconds`, and `NotWritten` when the disk is full, or what is there is damaged.
    """
    _check_names(name, fingerprint)
    missing = [key for key in REQUIRED if key not in manifest]
    if missing:
        raise ValueError(f"corpus {name}: the manifest lacks {', '.join(missing)}")
    examples = _checked_examples(examples, name)
    rejected = conform(rejected, REJECTED)
    rejected = rejected.sort(list(REJECTED), nulls_last=True)
    beside = beside or Beside()

    def fill(draft: Path, version: str, existing: Sequence[Path]) -> None:
        full = _complete_manifest(
            manifest,
            name=name,
            version=version,
            fingerprint=fingerprint,
            existing=existing,
            examples=examples,
            rejected=rejected,
        )
        for db_id, text in sorted(beside.profiles.items()):
            write_text(draft / "profiles" / f"{db_id}.json", text)
        for place, table in sorted(beside.tables.items()):
            (draft / place).parent.mkdir(parents=True, exist_ok=True)
            write_parquet(table, draft / place)
        _write_files(draft, examples, rejected, manifest=full, instances=beside.instances)

    return place_version(root, name, fingerprint, fill, wait_seconds=wait_seconds)


def place_version(
    root: Path,
    name: str,
    fingerprint: str,
    fill: Callable[[Path, str, Sequence[Path]], None],
    *,
    wait_seconds: float = 60.0,
) -> Path:
    """Make the folder `root/name/v<NNNN>-<fingerprint 8 hex>` appear whole, or find the one that is there.

    `fill` is given a hidden folder that is new and empty, the version's name, and the versions before it; its last
    act is `write_manifest`. Raises like `write_version`.
    """
    _check_names(name, fingerprint)
    folder = root / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with writing(folder, wait_seconds):
            _remove_leftovers(folder)
            existing = list_versions(root, name)
            for path in existing:
                same_name = path.name.endswith(f"-{fingerprint[:8]}")
                if same_name and _is_whole(path, fingerprint):
                    log.info("%s: this build is already there as %s", name, path.name)
                    _point_latest(folder, existing[-1])
                    return path
            final = folder / _next_name(existing, fingerprint)
            draft = folder / f"{DRAFT}{os.getpid()}"
            try:
                draft.mkdir()
                fill(draft, final.name, existing)
                sync_tree(draft)
                draft.rename(final)
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise
            sync_folder(folder)
            _point_latest(folder, final)
            return final
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        raise NotWritten(
            f"corpus {name}: no room to write a version below {root} "
            f"({free_bytes(root) / 2**20:.0f} MiB free): {error.strerror}. "
            "Nothing half-written is left; free some space or raise the quota, then run the build again"
        ) from error


def _is_whole(path: Path, fingerprint: str) -> bool:
    """Whether a version has this `fingerprint`. Raises `NotWritten` when it is, and not as it was written."""
    version = Version(path)
    try:
        if version.fingerprint != fingerprint:
            return False
        damage = version.verify_hashes()
    except NoVersion as error:
        damage = [str(error)]
    if damage:
        raise NotWritten(f"{path} is damaged, and this build would give it again: {MEND} ({damage[0]})")
    return True


def write_manifest(draft: Path, manifest: Mapping[str, Any]) -> None:
    """Add the facts of all files in `draft` to the manifest, write it beside them, and make all read-only."""
    body = json.dumps({**manifest, "files": _file_facts(draft)}, ensure_ascii=False, indent=1, allow_nan=False)
    (draft / "manifest.json").write_text(body + "\n", encoding="utf-8")
    for path in draft.rglob("*"):
        if path.is_file():
            path.chmod(0o444)


def _check_names(name: str, fingerprint: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise ValueError(f"corpus name {name!r}: use letters, digits, '.', '_' and '-', a letter or digit first")
    if not re.fullmatch(r"[0-9a-f]{8,64}", fingerprint):
        raise ValueError(f"corpus {name}: fingerprint {fingerprint!r} is not 8 to 64 lower-case hex digits")


def _checked_examples(examples: pl.DataFrame, name: str) -> pl.DataFrame:
    examples = conform(examples, EXAMPLE).sort("example_id")
    if examples.is_empty():
        raise ValueError(f"corpus {name}: there is no example to publish; see the rejected rows and their reasons")
    ids = examples["example_id"]
    wrong = ids.filter(ids.is_null() | ~ids.str.contains(r"^[0-9a-f]{16}$").fill_null(False))
    if len(wrong):
        raise ValueError(f"corpus {name}: example_id {wrong[0]!r} is not 16 hex digits ({len(wrong)} such rows)")
    twice = ids.filter(ids.is_duplicated())
    if len(twice):
        raise ValueError(f"corpus {name}: example_id {twice[0]} stands more than once ({len(twice)} such rows)")
    strange = examples.filter(~pl.col("split").is_in(SPLITS).fill_null(False))
    if strange.height:
        row = strange.row(0, named=True)
        raise ValueError(
            f"corpus {name}: example {row['example_id']} has split {row['split']!r}; expected {', '.join(SPLITS)}"
        )
    return examples


def _next_name(existing: Sequence[Path], fingerprint: str) -> str:
    numbers = [int(m["number"]) for path in existing if (m := VERSION_NAME.fullmatch(path.name))]
    return f"v{max(numbers, default=0) + 1:04d}-{fingerprint[:8]}"


def _complete_manifest(
    given: Mapping[str, Any],
    *,
    name: str,
    version: str,
    fingerprint: str,
    existing: Sequence[Path],
    examples: pl.DataFrame,
    rejected: pl.DataFrame,
) -> dict[str, Any]:
    return {
        "parent": existing[-1].name if existing else None,
        **given,
        "schema_version": SCHEMA_VERSION,
        "corpus": name,
        "version": version,
        "fingerprint": fingerprint,
        "library_versions": {**library_versions(RECORDED), **given.get("library_versions", {})},
        "counts": summarise(examples, rejected) | given.get("counts", {}),
    }


def _write_files(
    draft: Path,
    examples: pl.DataFrame,
    rejected: pl.DataFrame,
    *,
    manifest: dict[str, Any],
    instances: Instances,
) -> None:
    for split in SPLITS:
        rows = examples.filter(pl.col("split") == split)
        if rows.height:  # `load_dataset` cannot build a split without rows
            write_shards(rows, draft / "data", split)
    write_shards(rejected, draft / "rejected", "rejected")
    _write_instances(instances, draft / "instances")
    (draft / "README.md").write_text(render_card(manifest), encoding="utf-8")
    write_manifest(draft, manifest)


def _write_instances(instances: Instances, folder: Path) -> None:
    folder.mkdir()
    for relative, source in sorted(instances.files.items()):
        inner = PurePosixPath(relative)
        if inner.is_absolute() or ".." in inner.parts or len(inner.parts) != 2:
            raise ValueError(f'instance file {relative!r}: expected "<db_id>/<name>"')
        target = folder / inner
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)
    index = conform(instances.index, INSTANCE_INDEX).sort(list(INSTANCE_INDEX))
    unknown = sorted(set(index["file"]) - set(instances.files))
    if unknown:
        raise ValueError(f"instance index names {unknown[0]!r}, which is not among the files given")
    write_parquet(index, folder / "index.parquet")
    write_parquet(conform(instances.mutants, MUTANTS).sort(list(MUTANTS), nulls_last=True), folder / "mutants.parquet")


def _file_facts(draft: Path) -> dict[str, dict[str, Any]]:
    return {
        path.relative_to(draft).as_posix(): {"bytes": path.stat().st_size, "sha256": file_hash(path)}
        for path in sorted(draft.rglob("*"))
        if path.is_file()
    }


def _remove_leftovers(folder: Path) -> None:
    for path in sorted(folder.glob(f"{DRAFT}*")):
        log.warning("%s: removing what an interrupted writer left (%s)", folder, path.name)
        shutil.rmtree(path)


def _point_latest(folder: Path, newest: Path) -> None:
    pointer = folder / "latest"
    text = newest.name + "\n"
    if not pointer.is_file() or pointer.read_text(encoding="utf-8") != text:
        replace_text(pointer, text)
