"""Trained models: `models/<name>/<run>/{model, metrics.jsonl, manifest.json}`, and which one is promoted.

A run's name is its number and the start of its fingerprint. It is written in a draft folder, renamed when it is whole
and never changed after; an interrupted run keeps its draft, with its checkpoints, and goes on there.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agro_data.errors import InWords
from agro_data.faults import NO_SPACE
from agro_data.files import write_json, write_text
from agro_data.locking import Locked, exclusive
from agro_train.programs.settings import SettingsError

PROMOTED = "promoted"
MANIFEST = "manifest.json"
METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
LOCK = ".lock"
RUN = re.compile(r"r(?P<number>\d{4})-[0-9a-f]{8}\Z")
MENDED = "copy the run's folder anew, or remove it and train again"
_TORN = re.compile(r"unexpected pos \d+ vs \d+|PytorchStreamWriter failed")  # PyTorch's words for any failed write
_CODE = re.compile(r"\(os error (\d+)\)")  # what safetensors says
Fact = Mapping[str, str]  # of a database: `db_id`, `content_hash`


class NoRun(InWords, LookupError):
    """There is no such trained model; the message says what to run. `ours`: nothing else can be meant by its name."""

    def __init__(self, says: str, *, ours: bool = False) -> None:
        super().__init__(says)
        self.ours = ours


class DamagedRun(InWords, ValueError):
    """A run that was not copied whole, or a file of it is damaged; the message names it."""


class _Manifest(dict[str, Any]):
    """What `place` says; raises `DamagedRun` when asked for what it does not."""

    def __init__(self, place: Path, says: Mapping[str, Any]) -> None:
        super().__init__(says)
        self.place = place

    def __missing__(self, name: str) -> Any:
        raise DamagedRun(f"{self.place}: does not say {name!r}; {MENDED}")


@dataclass(frozen=True)
class ModelRun:
    """A finished run. `manifest` says how it was made; `cold_start` and `grpo` write its keys."""

    path: Path

    @property
    def name(self) -> str:
        """As a person names it: `<name>/<run>`."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def model(self) -> Path:
        return self.path / "model"

    @cached_property
    def manifest(self) -> dict[str, Any]:
        place = self.path / MANIFEST
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DamagedRun(f"{place}: damaged ({error}); {MENDED}") from None
        if not isinstance(found, dict):
            raise DamagedRun(f"{place}: expected an object, found {type(found).__name__}; {MENDED}")
        return _Manifest(place, found)

    @property
    def base_model(self) -> str:
        """The name of the model at the root of its lineage, before any run of ours."""
        return str(self.manifest["base_model"])

    @property
    def corpus(self) -> Mapping[str, Any] | None:
        """Name, version and fingerprint of the corpus that it learnt from, or None."""
        found: Mapping[str, Any] | None = self.manifest.get("corpus")
        return found

    @property
    def databases(self) -> list[Fact]:
        """The databases that it and its parent runs have learnt about."""
        found: list[Fact] = self.manifest["databases"]
        return found

    @property
    def clarify(self) -> bool:
        """Whether its prompts say that it may ask back."""
        return bool(self.manifest.get("clarify"))

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those that it was trained with."""
        found: Mapping[str, Any] = self.manifest["config"]
        return found

    @property
    def moved(self) -> Mapping[str, Any]:
        """What training changed of the weights (`Moved.facts`)."""
        found: Mapping[str, Any] = self.manifest["parameters_moved"]
        return found

    def metrics(self) -> Iterator[dict[str, Any]]:
        """The lines of `metrics.jsonl`, oldest first."""
        return read_metrics(self.path / METRICS)


def runs_of(root: Path, name: str) -> list[ModelRun]:
    """Finished runs of the model `name`, oldest first."""
    folder = root / name
    found = [path for path in folder.iterdir() if RUN.match(path.name)] if folder.is_dir() else []
    return [ModelRun(path) for path in sorted(found) if (path / MANIFEST).is_file()]


def find_run(root: Path, name: str) -> ModelRun:
    """The run `name`: `promoted`, `<name>` for its newest, `<name>/<run>`, or a path; what lies below `root` first.

    A run's folder of weights stands for the run, so that nothing it was trained on is forgotten. Raises `NoRun`.
    """
    if name == PROMOTED:
        return _promoted(root)
    for path in (root / name, Path(name).resolve()):
        for run in (ModelRun(path), ModelRun(path.parent)):
            if path in (run.path, run.model) and (run.path / MANIFEST).is_file():
                return run
    if "/" not in name and (runs := runs_of(root, name)):
        return runs[-1]
    if half := _not_whole(root / name):
        raise NoRun(f"{half}: no {MANIFEST} in it, so it was not copied whole; {MENDED}", ours=True)
    model, _, number = name.partition("/")
    if re.match(r"r\d", number) and (runs := runs_of(root, model)):
        there = ", ".join(one.path.name for one in runs)
        raise NoRun(f"there is no run {name!r} below {root}: of {model} there is {there}", ours=True)
    raise NoRun(f"there is no trained model {name!r} below {root}; `agro train cold-start` makes one")


def _not_whole(place: Path) -> Path | None:
    """A folder named as a run is, or the newest in it, where neither has a manifest."""
    found = [path for path in (place, *sorted(place.glob("r*"), reverse=True)) if RUN.match(path.name)]
    return next((path for path in found if path.is_dir() and not (path / MANIFEST).is_file()), None)


def trained(root: Path) -> list[ModelRun]:
    """The newest run of each trained model."""
    names = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return [runs[-1] for name in names if (runs := runs_of(root, name))]


def promote(root: Path, run: ModelRun) -> None:
    """Make `run` what `promoted` means."""
    write_text(root / PROMOTED, f"{run.path.resolve().relative_to(root.resolve()).as_posix()}\n")


def _promoted(root: Path) -> ModelRun:
    try:
        named = (root / PROMOTED).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        there = ", ".join(one.name for one in trained(root))
        trains = "`agro train cold-start` trains one, which is called cold-start"
        raise NoRun(
            f"no model is promoted below {root}; {f'name one that is there: {there}' if there else trains} "
            "(`dagster job execute -j train_grpo` trains, compares and promotes)",
            ours=True,
        ) from None
    if not (root / named / MANIFEST).is_file():
        raise NoRun(f"{root / PROMOTED} names {named}, which is not there; promote another run or train one", ours=True)
    return ModelRun(root / named)


@dataclass(frozen=True)
class Draft:
    """A run that is being written. `path` is a hidden folder beside where it will stand; it may hold checkpoints."""

    path: Path
    fingerprint: str

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def metrics(self) -> Path:
        return self.path / METRICS

    @property
    def checkpoints(self) -> Path:
        """Where the trainer keeps what an interrupted run goes on from."""
        return self.path / CHECKPOINTS

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Around all that is written in the draft, whose folder is made anew where a start that failed has removed it.

        Raises `locking.Locked` while another process is there, or where one has finished the run since this draft was
        begun.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with exclusive(self.path / LOCK, wait_seconds=0, doing="is training with the same settings"):
            if _finished(self.path.parent, self.fingerprint) is not None:
                shutil.rmtree(self.path)
                raise Locked(
                    f"{self.path}: another process has finished this run meanwhile; the same command now finds it"
                )
            yield

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Around all that is done for the draft: it goes where that fails before there is anything to go on from.

        Raises `OSError` where the disk is full, which the libraries that write weights call something else.
        """
        try:
            yield
        except Exception as error:
            with suppress(Locked, OSError), self.alone():
                if not self._holds_work():
                    shutil.rmtree(self.path)
                    self.path.parent.rmdir()  # where it has no other run
            if _has_no_room(error):
                raise OSError(errno.ENOSPC, "weights could not be written whole", str(self.path)) from error
            raise

    def _holds_work(self) -> bool:
        passing = {LOCK, METRICS, "tensorboard", self.checkpoints.name}
        return self.last_checkpoint() is not None or any(path.name not in passing for path in self.path.iterdir())

    def last_checkpoint(self) -> Path | None:
        """The newest checkpoint that is whole: its state is what transformers writes last."""
        whole = [path.parent for path in self.checkpoints.glob("checkpoint-*/trainer_state.json") if _is_whole(path)]
        return max(whole, key=step_of, default=None)

    def finish(self, manifest: Mapping[str, Any]) -> ModelRun:
        """Write the manifest, put the run in its place, and drop what is of use only to go on.

        Raises `Locked` when another run of the same model takes its place for longer than a minute.
        """
        write_json(self.path / MANIFEST, {**manifest, "fingerprint": self.fingerprint})
        folder = self.path.parent
        with exclusive(folder / LOCK, wait_seconds=60, doing="is finishing a run of this model"):
            number = 1 + max((int(path.name[1:5]) for path in folder.iterdir() if RUN.match(path.name)), default=0)
            target = folder / f"r{number:04d}-{self.fingerprint[:8]}"
            os.replace(self.path, target)
        (target / LOCK).unlink(missing_ok=True)
        shutil.rmtree(target / CHECKPOINTS, ignore_errors=True)
        return ModelRun(target)


def _has_no_room(error: Exception) -> bool:
    said = _CODE.search(str(error))
    return bool(_TORN.search(str(error))) or (said is not None and int(said[1]) in NO_SPACE)


def check_name(name: str) -> None:
    """Raise `SettingsError` for the name of a model whose runs would lie elsewhere than in a folder of that name."""
    if not name or name.startswith(".") or name == PROMOTED or set(name) & {*"/\\\0"}:
        raise SettingsError(
            f"name is {name!r}: expected the name of a folder, which has no slash, no dot in front, and is not "
            f"{PROMOTED!r}; where models lie is the setting models"
        )


def begin(root: Path, name: str, fingerprint: str) -> Draft | ModelRun:
    """A draft for this fingerprint, the one that was interrupted if there is one, or the run if it is finished.

    Raises `SettingsError` like `check_name`.
    """
    check_name(name)
    if run := _finished(root / name, fingerprint):
        shutil.rmtree(run.path / CHECKPOINTS, ignore_errors=True)  # of one that was killed as it finished
        return run
    draft = root / name / f".draft-{fingerprint[:16]}"
    draft.mkdir(parents=True, exist_ok=True)
    return Draft(draft, fingerprint)


def _finished(folder: Path, fingerprint: str) -> ModelRun | None:
    runs = runs_of(folder.parent, folder.name)
    return next((run for run in runs if run.manifest.get("fingerprint") == fingerprint), None)


def _is_whole(state: Path) -> bool:
    """Whether a checkpoint's state is not cut short: transformers writes it in place."""
    try:
        json.loads(state.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def step_of(checkpoint: Path) -> int:
    """The step that a checkpoint was written after."""
    return int(checkpoint.name.rpartition("-")[2])


def append_metrics(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line to a metrics file, for whoever follows it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, allow_nan=True) + "\n")


def forget_metrics(path: Path, after: int) -> None:
    """Leave out the lines of steps later than `after`, and a final one: a run that goes on at a checkpoint takes those
    steps again, and ends anew."""
    kept = [line for line in read_metrics(path) if line.get("step", 0) <= after and not line.get("final")]
    write_text(path, "".join(json.dumps(line, allow_nan=True) + "\n" for line in kept))


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a metrics file; one that is half written is left out."""
    if not path.is_file():
        return
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    yield from map(json.loads, whole)
