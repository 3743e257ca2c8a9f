"""Which versions of a corpus may go, and how they go: whole or not at all.

A version is kept when it is the latest, when it has been published, when another version was made from it
(trajectories name their corpus), when who prunes holds it, or when it is among the newest `keep`. What has been
published is written down in `<corpus>/published`, a text file with the name of one version on each line.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from agro_data.files import replace_text, sync_folder
from agro_data.publish.lock import writing
from agro_data.publish.read import DERIVED, NoVersion, latest, list_versions, read_manifest

PUBLISHED = "published"
NONE_HELD: Mapping[Path, str] = MappingProxyType({})
PRUNED = ".pruned-"  # a version that is on its way out; no reader takes it for one


@dataclass(frozen=True)
class VersionFate:
    """The fate of a version: the reason why it stays, or "" when it goes; and the bytes of its files."""

    path: Path
    keeps: str
    size: int


def published(root: Path, name: str) -> list[str]:
    """Names of the versions of corpus `name` that have been published, in the order in which they were."""
    record = root / name / PUBLISHED
    return record.read_text(encoding="utf-8").split() if record.is_file() else []


def record_published(path: Path, *, wait_seconds: float = 60.0) -> None:
    """Write down that the version folder `path` has been published: from now on nothing prunes it.

    Raises `locking.Locked` when another writer holds the corpus for longer than `wait_seconds`.
    """
    path = path.resolve()  # said as ".", it would have no parent
    root, name = path.parent.parent, path.parent.name
    with writing(path.parent, wait_seconds):
        names = published(root, name)
        if path.name not in names:
            replace_text(path.parent / PUBLISHED, "".join(f"{one}\n" for one in [*names, path.name]))


def sweep(
    root: Path, keep: int, only: str = "", *, dry_run: bool = False, held: Mapping[Path, str] = NONE_HELD
) -> list[tuple[str, VersionFate]]:
    """Prune every corpus below `root`, or that named `only`, with what was made from it; what became of each version.

    Derived versions are deleted before their sources, since a source stays only while something made from it stays.
    `dry_run` deletes nothing and says the same. `held` are folders of versions that stay, with the reason. Raises like
    `prune`.
    """
    decided: list[tuple[str, VersionFate]] = []
    going: set[Path] = set()
    for name in _in_order(root, only):
        found = fates(root, name, keep, going, held) if dry_run else prune(root, name, keep, held=held)
        going |= {fate.path for fate in found if not fate.keeps}
        decided += [(name, fate) for fate in found]
    return decided


def fates(
    root: Path, name: str, keep: int, going: Collection[Path] = (), held: Mapping[Path, str] = NONE_HELD
) -> list[VersionFate]:
    """What `prune` would do with each version of corpus `name`, oldest first.

    `keep` counts the newest versions that stay in any case, at least 1. What is `going` needs no version any more.
    `held` says why those stay that are. Raises `NoVersion` when there is none.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}: at least the latest version stays")
    versions = list_versions(root, name)
    newest = latest(root, name)
    out, sources = published(root, name), _made_from(root, going)
    newest_names = {path.name for path in versions[-keep:]}
    found: list[VersionFate] = []
    for path in versions:
        reason = ""
        if path == newest:
            reason = "latest"
        elif path.name in out:
            reason = "published"
        elif (name, path.name) in sources:
            reason = f"{sources[name, path.name]} was made from it"
        elif path in held:
            reason = held[path]
        elif path.name in newest_names:
            reason = "among the newest"
        found.append(VersionFate(path, reason, _size(path)))
    return found


def prune(
    root: Path, name: str, keep: int, *, held: Mapping[Path, str] = NONE_HELD, wait_seconds: float = 60.0
) -> list[VersionFate]:
    """Delete the versions that `fates` says may go, decided anew under the corpus' lock; what became of each.

    A version vanishes from its readers in one step, by a rename, and is deleted after that; what a pruning that was
    killed left behind, the next one deletes. Raises like `fates`, and `locking.Locked`.
    """
    latest(root, name)  # raises before a lock file is made in a folder that is no corpus
    folder = root / name
    with writing(folder, wait_seconds):
        _delete_hidden(folder)
        decided = fates(root, name, keep, held=held)
        for fate in decided:
            if not fate.keeps:
                fate.path.rename(folder / f"{PRUNED}{fate.path.name}")
        sync_folder(folder)
        _delete_hidden(folder)
    return decided


def _delete_hidden(folder: Path) -> None:
    for path in sorted(folder.glob(f"{PRUNED}*")):
        shutil.rmtree(path)


def _in_order(root: Path, only: str) -> list[str]:
    """Names of the folders below `root` that hold versions, or of those that hold `only` and what was made from it."""
    names = sorted(path.name for path in root.iterdir() if list_versions(root, path.name)) if root.is_dir() else []
    source = {name: _source(latest(root, name))[0] for name in names}
    made = [name for name in names if source[name] and only in ("", source[name])]
    return [*made, *([only] if only else [name for name in names if not source[name]])]


def _made_from(root: Path, going: Collection[Path]) -> dict[tuple[str, str], str]:
    """For each (corpus, version) that something below `root` was made from which stays, one version that was."""
    found: dict[tuple[str, str], str] = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        for path in list_versions(root, folder.name):
            if path not in going and any(source := _source(path)):
                found.setdefault(source, f"{folder.name}/{path.name}")
    return found


def _source(path: Path) -> tuple[str, str]:
    """Corpus and version that a version was made from; nothing of a corpus, or of one whose manifest is damaged."""
    try:
        source = read_manifest(path).get(DERIVED)
    except NoVersion:
        return "", ""
    return (str(source.get("name", "")), str(source.get("version", ""))) if isinstance(source, dict) else ("", "")


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
