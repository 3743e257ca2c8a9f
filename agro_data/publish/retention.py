"""Which versions of a corpus may go, and how they go: whole or not at all.

A version is kept when it is the latest, when it has been published, when another version was made from it
(trajectories name their corpus), or when it is among the newest `keep`. What has been published is written down in
`<corpus>/published`, a text file with the name of one version on each line.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from agro_data.publish.read import DERIVED, NoVersion, latest, list_versions, read_manifest
from agro_data.publish.storage import exclusive, replace_text, sync_folder

PUBLISHED = "published"
PRUNED = ".pruned-"  # a version that is on its way out; no reader takes it for one


@dataclass(frozen=True)
class Fate:
    """What becomes of a version: the reason why it stays, or "" when it goes; the bytes of its files."""

    path: Path
    keeps: str
    size: int


def published(root: Path, name: str) -> list[str]:
    """Names of the versions of corpus `name` that have been published, in the order in which they were."""
    record = root / name / PUBLISHED
    return record.read_text(encoding="utf-8").split() if record.is_file() else []


def record_published(path: Path, *, wait_seconds: float = 60.0) -> None:
    """Write down that the version folder `path` has been published: from now on nothing prunes it.

    Raises `storage.Locked` when another writer holds the corpus for longer than `wait_seconds`.
    """
    path = path.resolve()  # said as ".", it would have no parent
    root, name = path.parent.parent, path.parent.name
    with exclusive(path.parent / ".lock", wait_seconds=wait_seconds):
        names = published(root, name)
        if path.name not in names:
            replace_text(path.parent / PUBLISHED, "".join(f"{one}\n" for one in [*names, path.name]))


def fates(root: Path, name: str, keep: int) -> list[Fate]:
    """What `prune` would do with each version of corpus `name`, oldest first.

    `keep` counts the newest versions that stay in any case, at least 1. Raises `NoVersion` when there is none.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}: at least the latest version stays")
    versions = list_versions(root, name)
    newest = latest(root, name)
    out, sources = published(root, name), _made_from(root)
    newest_names = {path.name for path in versions[-keep:]}
    found: list[Fate] = []
    for path in versions:
        reason = ""
        if path == newest:
            reason = "latest"
        elif path.name in out:
            reason = "published"
        elif (name, path.name) in sources:
            reason = f"{sources[name, path.name]} was made from it"
        elif path.name in newest_names:
            reason = "among the newest"
        found.append(Fate(path, reason, _size(path)))
    return found


def prune(root: Path, name: str, keep: int, *, wait_seconds: float = 60.0) -> list[Fate]:
    """Delete the versions that `fates` says may go, decided anew under the corpus' lock; what became of each.

    A version vanishes from its readers in one step, by a rename, and is deleted after that; what a pruning that was
    killed left behind, the next one deletes. Raises like `fates`, and `storage.Locked`.
    """
    latest(root, name)  # raises before a lock file is made in a folder that is no corpus
    folder = root / name
    with exclusive(folder / ".lock", wait_seconds=wait_seconds):
        _delete_hidden(folder)
        decided = fates(root, name, keep)
        for fate in decided:
            if not fate.keeps:
                fate.path.rename(folder / f"{PRUNED}{fate.path.name}")
        sync_folder(folder)
        _delete_hidden(folder)
    return decided


def _delete_hidden(folder: Path) -> None:
    for path in sorted(folder.glob(f"{PRUNED}*")):
        shutil.rmtree(path)


def _made_from(root: Path) -> dict[tuple[str, str], str]:
    """For each (corpus, version) that something below `root` was made from, one version that was."""
    found: dict[tuple[str, str], str] = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        for path in list_versions(root, folder.name):
            try:
                source = read_manifest(path).get(DERIVED)
            except NoVersion:  # damaged: it names nothing
                continue
            if isinstance(source, dict):
                key = (str(source.get("name", "")), str(source.get("version", "")))
                found.setdefault(key, f"{folder.name}/{path.name}")
    return found


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
