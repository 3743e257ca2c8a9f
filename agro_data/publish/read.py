"""Reading a corpus version: its manifest, its rows, and whether they are still what was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.config import BuildConfig
from agro_data.databases.discovery.catalog import VERSION_NAME
from agro_data.errors import InWords
from agro_data.folders import files_gone
from agro_data.hashing import file_hash
from agro_data.records import ANSWERABLE, MUTANT

CERTIFICATE = "certificate"  # the folder of whole rows in what is published
DERIVED = "of_corpus"  # stands in the manifest of a version that was made from a corpus
REQUIRED = ("corpus", "version", "fingerprint", "config", "databases")  # what any manifest of a corpus says
MEND = "delete the folder and build again"  # of a version that is damaged: what is there is not written over
# Keys of a manifest that describe how its rows were built; they also hold for the rows that a later version keeps.
OF_THE_BUILD = ("seeds", "schema_serialiser", "selection", "unanswerable", "asked_of_a_model", "yields")


class NoVersion(InWords, LookupError):
    """There is no corpus version where one was expected; the message says what is there."""


@dataclass(frozen=True)
class Version:
    """One corpus version on disk; its folder is all it holds, the rest is read when asked for."""

    path: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return read_manifest(self.path)

    @property
    def corpus(self) -> str:
        return str(self.manifest["corpus"])

    @property
    def name(self) -> str:
        return str(self.manifest["version"])

    @property
    def fingerprint(self) -> str:
        return str(self.manifest["fingerprint"])

    @property
    def db_ids(self) -> list[str]:
        return [str(entry["db_id"]) for entry in self.manifest["databases"]]

    @property
    def private(self) -> bool:
        """Whether it was made without the values of its databases: on stand-ins, which no version keeps."""
        return bool(self.manifest.get("config", {}).get("values") == "synthetic")

    @property
    def min_kill_rate(self) -> float:
        """The share of mutants that rows which follow it are to reach: of releases that asked for none, the default."""
        return float(self.manifest["config"].get("min_kill_rate", BuildConfig.min_kill_rate))

    @property
    def rows_folder(self) -> str:
        """Where whole rows are: in what is published `data` holds only what most people train with."""
        return CERTIFICATE if (self.path / CERTIFICATE).is_dir() else "data"

    def examples(self, split: str | None = None) -> pl.LazyFrame:
        """Rows of `records.EXAMPLE`, all splits or one. Raises `NoVersion` for a split that has no rows, and where a
        file of it is gone: the others would be taken for the whole.

        Columns that a release before knew nothing of say what was true of all its rows.
        """
        pattern = f"{self.rows_folder}/{split or '*'}-*.parquet"
        files = sorted(self.path.glob(pattern))
        if gone := files_gone(self.path, self.manifest, pattern):
            raise NoVersion(f"{self.path}: damaged: {gone[0]} is missing. Copy it anew, or {MEND}")
        if not files:
            folder = self.path / self.rows_folder
            present = ", ".join(sorted({path.name.split("-")[0] for path in folder.glob("*.parquet")}))
            raise NoVersion(f"{self.path}: no rows in split {split!r}; splits with rows: {present or 'none'}")
        frame = pl.scan_parquet(files, glob=False)
        if DERIVED in self.manifest:
            return frame
        known = frame.collect_schema()
        return frame.with_columns(**{name: value for name, value in ANSWERABLE.items() if name not in known})

    def rejected(self) -> pl.LazyFrame:
        """Rows of `records.REJECTED`."""
        return pl.scan_parquet(sorted((self.path / "rejected").glob("*.parquet")), glob=False)

    def instances(self) -> pl.LazyFrame:
        """The instance index: db_id, example_id, file (below `instances/`), gold_digest."""
        return pl.scan_parquet(self.path / "instances" / "index.parquet", glob=False)

    def mutants(self, example_id: str) -> pl.DataFrame:
        """What became of each mutant of an example: the columns of `records.MUTANT`; no row where none was tried."""
        return self._mutants().filter(pl.col("example_id") == example_id).drop("example_id").collect()

    def all_mutants(self) -> pl.DataFrame:
        """What became of each mutant of all examples: `example_id` and the columns of `records.MUTANT`."""
        return self._mutants().collect()

    def _mutants(self) -> pl.LazyFrame:
        path = self.path / "instances" / "mutants.parquet"
        if not path.is_file():  # written by a release that made no certificates
            return pl.LazyFrame(schema={"example_id": pl.String, **dict(MUTANT.to_schema())})
        return pl.scan_parquet(path, glob=False)

    def profiles(self) -> dict[str, str]:
        """What each database was when the version was made, by `db_id`; of releases that kept none, nothing."""
        files = sorted((self.path / "profiles").glob("*.json"))
        return {path.stem: path.read_text(encoding="utf-8") for path in files}

    def example(self, example_id: str) -> dict[str, Any]:
        """The one row with this id, or with this beginning of an id if only one row has it.

        Raises `NoVersion` when none or several have.
        """
        if not re.fullmatch(r"[0-9a-f]{4,16}", example_id):
            raise NoVersion(f"{example_id!r} is no example id: expected 16 hex digits (or the first 4 or more)")
        found = self.examples().filter(pl.col("example_id").str.starts_with(example_id)).collect()
        if found.height == 1:
            return found.row(0, named=True)
        if found.is_empty():
            raise NoVersion(
                f"{self.path}: no example {example_id}; it holds {self.manifest['counts']['examples']} others"
            )
        raise NoVersion(f"{self.path}: {found.height} examples begin with {example_id}; give more digits")

    def verify_hashes(self) -> list[str]:
        """Differences between the files and the manifest, one line each; empty when all is as written.

        Raises `NoVersion` when the manifest names no files.
        """
        expected: dict[str, dict[str, Any]] | None = self.manifest.get("files")
        if expected is None:
            raise NoVersion(f"{self.path}: damaged: manifest.json lists no files. Copy it anew, or {MEND}")
        present = {p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file()}
        problems = [f"{name}: missing" for name in sorted(set(expected) - present)]
        problems += [f"{name}: not in the manifest" for name in sorted(present - set(expected) - {"manifest.json"})]
        for name in sorted(present & set(expected)):
            size = (self.path / name).stat().st_size
            if size != expected[name]["bytes"]:
                problems.append(f"{name}: {size} bytes, expected {expected[name]['bytes']}")
            elif file_hash(self.path / name) != expected[name]["sha256"]:
                problems.append(f"{name}: content differs from what was written")
        return problems


def list_versions(root: Path, name: str) -> list[Path]:
    """Folders of the versions of corpus `name` under `root`, oldest first."""
    folder = root / name
    if not folder.is_dir():
        return []
    found = [(m, p) for p in folder.iterdir() if (m := VERSION_NAME.fullmatch(p.name)) and p.is_dir()]
    return [path for _, path in sorted(found, key=lambda pair: (int(pair[0]["number"]), pair[1].name))]


def list_corpora(root: Path) -> list[str]:
    """Names of the corpora under `root` that have a version; what was made from one, as trajectories are, is none."""
    names = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return [name for name in names if list_versions(root, name) and not _derived(latest(root, name))]


def _derived(path: Path) -> bool:
    try:
        return DERIVED in read_manifest(path)
    except NoVersion:  # damaged: for whoever opens it to say
        return False


def latest(root: Path, name: str) -> Path:
    """Folder of the latest version: what `latest` names, else the newest (a writer killed before it said so).

    Raises `NoVersion` when there is none.
    """
    versions = list_versions(root, name)
    if not versions:
        raise NoVersion(f"{root}: corpus {name!r} has no version; build one first")
    pointer = root / name / "latest"
    named = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else ""
    return next((path for path in versions if path.name == named), versions[-1])


def newest(root: Path, names: Iterable[str]) -> Path:
    """Among the latest versions of some corpora (at least one), the folder that was written last."""
    return max((latest(root, name) for name in names), key=lambda path: path.stat().st_mtime)


def open_version(path: Path | str) -> Version:
    """The version at `path`, or the latest one when `path` is a corpus folder.

    Raises `NoVersion` when it is neither.
    """
    path = Path(path).expanduser()  # in a script it is often text, and a launchpad knows no shell
    if (path / "manifest.json").is_file():
        return Version(path)
    if list_versions(path.parent, path.name):
        return Version(latest(path.parent, path.name))
    raise NoVersion(f"{path}: not a corpus version (no manifest.json) and not a corpus (no v0001-... folder)")


def open_corpus(path: Path | str) -> Version:
    """As `open_version`, but only for a corpus: data made from a corpus, such as trajectories, have no examples.

    Raises `NoVersion` for that too.
    """
    version = open_version(path)
    if DERIVED in version.manifest:
        of = "{name} {version}".format(**version.manifest[DERIVED])
        raise NoVersion(f"{version.path}: was made from a corpus and holds no examples; give that one, {of}")
    return version


def inherited(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest of a version that follows from another says as that does."""
    return {key: manifest[key] for key in OF_THE_BUILD if key in manifest}


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of the version folder `path`. Raises `NoVersion` when it cannot be read as one."""
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # a damaged one may hold no text at all
        raise NoVersion(f"{path}/manifest.json: cannot be read as a manifest: {error}") from error
    if not isinstance(manifest, dict):
        raise NoVersion(f"{path}/manifest.json: cannot be read as a manifest: expected a mapping")
    lacks = [key for key in REQUIRED if key not in manifest]
    if lacks and DERIVED not in manifest:
        raise NoVersion(f"{path}/manifest.json: cannot be read as a manifest: it lacks {', '.join(lacks)}")
    return manifest
