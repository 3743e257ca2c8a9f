"""Which corpus training learns from, and where its databases lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from agro_data.publish.read import NoVersion, Version, list_corpora, list_versions, newest, open_corpus
from agro_train.runs.store import ModelRun


def find_corpus(datasets: Path, named: str = "") -> Version:
    """The corpus version `named`: a folder, `<corpus>`, `<corpus>/<version>`, or "" for the newest of all corpora.

    Raises `NoVersion`, which says what to run.
    """
    below = datasets / named
    if named and ((below / "manifest.json").is_file() or list_versions(below.parent, below.name)):
        return open_corpus(below)
    corpora = list_corpora(datasets)
    if named:
        try:
            return open_corpus(Path(named))
        except NoVersion as error:
            raise NoVersion(f"{error}; {_there(datasets, corpora, below.parent.name)}") from None
    if not corpora:
        raise NoVersion(f"there is no corpus below {datasets}: run `make corpus`, or `agro build --databases PATH`")
    return Version(newest(datasets, corpora))


def _there(datasets: Path, corpora: Sequence[str], named: str) -> str:
    """What a person may have meant: versions of the corpus `named`, else corpora."""
    if named in corpora:
        return f"of {named} there is {', '.join(path.name for path in list_versions(datasets, named))}"
    return f"below {datasets} there are {', '.join(corpora)}" if corpora else f"there is none below {datasets}"


def find_databases_of(version: Version, given: str = "") -> Path:
    """The folder of a version's databases: `given`, else where they were when the version was built.

    Raises `NoVersion` when they are not there.
    """
    folder = Path(given or version.manifest["config"]["databases"]).expanduser().resolve()
    if not folder.exists():
        raise NoVersion(
            f"{folder}: the databases of {version.corpus} {version.name} are not there; say where they are "
            "with --databases PATH (in Dagster `databases` of the resource training)"
        )
    return folder


def contents_of(version: Version, split: str) -> dict[str, str]:
    """Content hash of each database that a split asks about, by id."""
    asked = set(version.examples(split).select("db_id").unique().collect()["db_id"].to_list())
    return {fact["db_id"]: fact["content_hash"] for fact in version.manifest["databases"] if fact["db_id"] in asked}


def held_back(version: Version, contents: Iterable[str]) -> list[str]:
    """Which databases of these contents (hashes) a version evaluates on, by id."""
    wanted = frozenset(contents)
    hashes = {fact["db_id"]: fact["content_hash"] for fact in version.manifest["databases"]}
    parts = version.manifest["split"]["databases"]
    return sorted(name for name, part in parts.items() if part != "train" and hashes.get(name) in wanted)


def seen_by(run: ModelRun) -> frozenset[str]:
    """Content hashes of the databases that a run was trained on."""
    return frozenset(fact["content_hash"] for fact in run.databases)
