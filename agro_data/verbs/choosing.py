"""Which version a verb means: a folder, a name, or the newest; and damage said as damage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from agro_data.config import ConfigError
from agro_data.databases.discovery.catalog import VERSION_NAME
from agro_data.publish.read import (
    MEND,
    NoVersion,
    Version,
    list_corpora,
    list_versions,
    newest,
    open_corpus,
    open_version,
)

LATEST = "latest"


def chosen_version(said: str | None, root: Path, name: str | None = None) -> Version:
    """The version that `said` names: a version's or a corpus' folder, a version's name below `root`, or `latest`.

    None means `latest`: the newest of the corpora below `root`, or of corpus `name`. Raises `NoVersion` for a folder
    that is no version of a corpus and `ConfigError` when nothing has that name.
    """
    if said is None or said == LATEST:
        return open_version(newest(root, corpora(root, name)))
    if Path(said).is_dir():
        return open_corpus(said)
    for corpus in corpora(root, name):
        if (root / corpus / said / "manifest.json").exists():
            return open_version(root / corpus / said)
    raise ConfigError(f"{root}: no version {said}; `agro versions {root}` lists them")


def version_with(example_id: str, root: Path, name: str | None) -> Version:
    """The newest version below `root`, or of corpus `name`, that has an example whose id begins so; the newest of all
    where none has. Raises `ConfigError` when there is no corpus.
    """
    first = chosen_version(None, root, name)
    every = [path for corpus in corpora(root, name) for path in list_versions(root, corpus)]
    latest_first = sorted(every, key=lambda path: path.stat().st_mtime, reverse=True)
    for path in dict.fromkeys([first.path, *latest_first]):
        with suppress(PolarsError, NoVersion, OSError):  # a damaged one has not what is looked for
            version = open_version(path)
            if version.examples().filter(pl.col("example_id").str.starts_with(example_id)).limit(1).collect().height:
                return version
    return first


def corpora(root: Path, name: str | None) -> list[str]:
    """The corpora below `root`, or the one that is named. Raises `ConfigError` when it is not there."""
    found = list_corpora(root)
    if name is not None and name not in found:
        there = f"; there are {', '.join(found)}" if found else ""
        raise ConfigError(f"{root}: no corpus {name} here{there}; `agro build` makes one")
    if not found:
        raise ConfigError(f"{root}: no corpus here; `agro build` makes one")
    return found if name is None else [name]


def named_by(folder: Path, name: str | None) -> tuple[Path, str | None]:
    """The folder that corpora lie in, and the corpus that is meant, where `folder` is a corpus' or a version's own."""
    own = folder.resolve()  # `.` has no name
    if VERSION_NAME.fullmatch(own.name):
        own = own.parent
    return (own.parent, own.name) if name is None and list_versions(own.parent, own.name) else (folder, name)


@contextmanager
def whole(version: Version) -> Iterator[None]:
    """A version whose files cannot be read as they were written is said to be damaged, and where."""
    try:
        yield
    except (PolarsError, KeyError, TypeError, OSError) as error:
        files = version.manifest.get("files")
        damage = version.verify_hashes() if isinstance(files, dict) else [f"manifest.json lacks {error}"]
        if not damage:
            raise
        raise NoVersion(f"{version.path}: damaged: {'; '.join(damage)}. Copy it anew, or {MEND}") from error
