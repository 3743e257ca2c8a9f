"""Runs on disk: by which names they are found, and what an interrupted one goes on from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from agro_data.locking import Locked
from agro_train.programs.settings import SettingsError
from agro_train.runs.store import MANIFEST, DamagedRun, Draft, ModelRun, NoRun, begin, find_run, runs_of


def test_a_checkpoint_that_is_cut_short_is_not_gone_on_from(tmp_path: Path) -> None:
    draft = begin(tmp_path, "small", "ab" * 32)
    assert isinstance(draft, Draft)
    assert draft.last_checkpoint() is None
    for step, state in ((2, '{"global_step": 2}'), (10, '{"global_step": 10'), (12, "")):
        (draft.checkpoints / f"checkpoint-{step}").mkdir(parents=True)
        (draft.checkpoints / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    assert draft.last_checkpoint() == draft.checkpoints / "checkpoint-2"


def test_a_folder_of_weights_is_known_by_its_run(tmp_path: Path) -> None:
    """Or the model would pass for one that has seen nothing."""
    draft = begin(tmp_path, "small", "ab" * 32)
    assert isinstance(draft, Draft)
    draft.model.mkdir()
    run = draft.finish({})
    for name in ("small", run.name, str(run.path), str(run.model), f"{run.name}/model/"):
        assert find_run(tmp_path, name) == run
    (tmp_path / "elsewhere" / "model").mkdir(parents=True)
    for name in (str(tmp_path / "elsewhere" / "model"), f"{run.path}/checkpoints"):
        with pytest.raises(NoRun):
            find_run(tmp_path, name)
    copied = run.path.rename(tmp_path / "model")
    assert find_run(tmp_path, str(copied)) == ModelRun(copied)


def test_two_do_not_write_in_one_draft(tmp_path: Path) -> None:
    draft = begin(tmp_path, "small", "ab" * 32)
    assert isinstance(draft, Draft)
    with draft.alone():
        held = rf"\.draft-abab\w*: process {os.getpid()} on .* is training with the same settings"
        with pytest.raises(Locked, match=held), draft.alone():
            pytest.fail("held twice")
        run = draft.finish({})
    assert begin(tmp_path, "small", "ab" * 32) == run
    assert {path.name for path in run.path.iterdir()} == {MANIFEST}
    other = begin(tmp_path, "small", "cd" * 32)
    assert isinstance(other, Draft)
    for _ in range(2):  # who has let go of it holds nobody off
        with other.alone():
            pass


def test_two_runs_that_finish_together_have_numbers_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = begin(tmp_path, "small", "ab" * 32), begin(tmp_path, "small", "cd" * 32)
    assert isinstance(first, Draft)
    assert isinstance(second, Draft)
    real, other = os.replace, Thread(target=second.finish, args=({},))

    def replace(source: Path, target: Path) -> None:
        if Path(source) == first.path:
            other.start()
            other.join(0.5)  # it would be done in that time, between the other's number and its name
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    first.finish({})
    other.join()
    assert [run.path.name for run in runs_of(tmp_path, "small")] == ["r0001-abababab", "r0002-cdcdcdcd"]


@pytest.mark.parametrize("name", ["", ".", "..", "../evil", "a/b", "a\\b", ".hidden", "promoted"])
def test_a_model_lies_in_a_folder_of_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="expected the name of a folder"):
        begin(tmp_path / "models", name, "a" * 64)
    assert not list(tmp_path.iterdir())


def test_a_draft_goes_when_its_start_fails(tmp_path: Path) -> None:
    """Unless there is something to go on from, or another process is at it."""

    def fails(draft: Draft | ModelRun) -> Path:
        assert isinstance(draft, Draft)
        with pytest.raises(ValueError, match="no"), draft.begun():
            raise ValueError("no")
        return draft.path

    assert not fails(begin(tmp_path, "small", "a" * 64)).parent.exists()
    for name in ("checkpoints/checkpoint-2/trainer_state.json", "prompts.json"):
        draft = begin(tmp_path, "small", "a" * 64)
        assert isinstance(draft, Draft)
        (draft.path / name).parent.mkdir(parents=True, exist_ok=True)
        (draft.path / name).write_text("{}")
        assert fails(draft).is_dir()
    other = begin(tmp_path, "small", "b" * 64)
    assert isinstance(other, Draft)
    with other.alone():
        assert fails(other).is_dir()


def test_a_start_that_fails_takes_no_draft_from_another_process(tmp_path: Path) -> None:
    first, second = begin(tmp_path, "m", "a" * 64), begin(tmp_path, "m", "a" * 64)
    assert isinstance(first, Draft)
    assert isinstance(second, Draft)
    with pytest.raises(ValueError, match="no"), first.begun():
        raise ValueError("no")
    with second.begun(), second.alone():
        second.model.mkdir()
        run = second.finish({})
    assert begin(tmp_path, "m", "a" * 64) == run
    with pytest.raises(Locked, match="finished this run meanwhile"), first.begun(), first.alone():
        pass
    assert [path.name for path in run.path.parent.iterdir() if path.is_dir()] == [run.path.name]


def test_a_draft_that_another_process_has_finished_is_said_to_be(tmp_path: Path) -> None:
    draft, late = begin(tmp_path, "m", "a" * 64), begin(tmp_path, "m", "a" * 64)
    assert isinstance(draft, Draft)
    assert isinstance(late, Draft)
    draft.checkpoints.mkdir()
    run = draft.finish({"kind": "grpo"})
    assert not (run.path / "checkpoints").exists()
    (run.path / "checkpoints").mkdir()  # left by one that was killed as it finished
    assert begin(tmp_path, "m", "a" * 64) == run
    assert not (run.path / "checkpoints").exists()
    with pytest.raises(Locked, match="finished this run meanwhile"), late.alone():
        pass
    assert begin(tmp_path, "m", "a" * 64) == run


def test_a_run_that_was_not_copied_whole_is_said_to_be(tmp_path: Path) -> None:
    run = tmp_path / "models" / "cold-start" / "r0001-0123abcd"
    (run / "model").mkdir(parents=True)
    for name in ("cold-start", "cold-start/r0001-0123abcd", str(run)):
        with pytest.raises(NoRun, match=r"r0001-0123abcd: no manifest.json in it, so it was not copied whole") as half:
            find_run(tmp_path / "models", name)
        assert half.value.ours
    cases = [('{"config": ', "damaged"), ("", "damaged"), ("[]", "expected an object, found list")]
    for text, says in [*cases, ("{}", "does not say 'config'")]:
        (run / "manifest.json").write_text(text)
        with pytest.raises(DamagedRun, match=rf"manifest.json: {says}.*copy the run's folder anew"):
            _ = find_run(tmp_path / "models", "cold-start").settings
    with pytest.raises(DamagedRun, match="does not say 'databases'"):
        _ = find_run(tmp_path / "models", "cold-start").databases
    (run / "manifest.json").write_text("[]")
    with pytest.raises(DamagedRun):
        begin(tmp_path / "models", "cold-start", "0" * 64)


FULL = """
import resource, sys
from pathlib import Path
import torch
from safetensors.torch import save_file
from agro_train.runs.store import begin

draft = begin(Path(sys.argv[1]), "cold-start", "0" * 64)
weights = {"a": torch.ones(100_000)}
optimizer, model = draft.path / "optimizer.pt", draft.path / "model.safetensors"
for write in (lambda: torch.save(weights, optimizer), lambda: save_file(weights, model)):
    try:
        with draft.begun():
            draft.checkpoints.mkdir(parents=True, exist_ok=True)
            resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, -1))  # a full disk ends a write so, too
            write()
    except OSError as error:
        print(error.filename == str(draft.path), type(error.__cause__).__name__)
"""


def test_a_disk_that_is_full_is_said_to_be_whoever_writes(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["True RuntimeError", "True SafetensorError"]
