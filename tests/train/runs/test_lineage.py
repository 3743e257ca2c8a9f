"""Where training starts from is said before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from train.tiny import make_tiny_model

from agro_data.models import DEFAULT_WRITER, ModelMissing
from agro_train.runs.lineage import start_of
from agro_train.runs.store import ModelRun, NoRun, begin


def test_a_start_is_a_run_or_a_folder_of_weights(tmp_path: Path) -> None:
    make_tiny_model(tmp_path / "tiny")
    assert start_of(str(tmp_path / "tiny"), tmp_path, tmp_path) == (None, tmp_path / "tiny")
    draft = begin(tmp_path, "cold-start", "0123abcd" * 8)
    assert not isinstance(draft, ModelRun)
    run = draft.finish({})
    assert start_of("cold-start", tmp_path, tmp_path) == (run, run.model)


def test_runs_that_are_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoRun, match="`agro train cold-start` trains one, which is called cold-start"):
        start_of("promoted", tmp_path, tmp_path)
    draft = begin(tmp_path, "small", "0123abcd" * 8)
    assert not isinstance(draft, ModelRun)
    run = draft.finish({})
    with pytest.raises(NoRun, match=f"name one that is there: {run.name}"):
        start_of("promoted", tmp_path, tmp_path)
    with pytest.raises(NoRun, match=f"no run 'small/r0009' below .*: of small there is {run.path.name}"):
        start_of("small/r0009", tmp_path, tmp_path)  # and the Hub is not asked


def test_what_is_not_there_is_told_with_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="`agro train cold-start` makes one"):
        start_of("cold-start", tmp_path, tmp_path)
    with pytest.raises(ModelMissing, match=f"a Hub id like '{DEFAULT_WRITER}'"):
        start_of("nothing", tmp_path, tmp_path)
    with pytest.raises(ModelMissing, match="a server keeps its model's weights"):
        start_of("http://localhost:8000/v1", tmp_path, tmp_path)
    (tmp_path / "pickled").mkdir()
    for name in ("config.json", "pytorch_model.bin"):
        (tmp_path / "pickled" / name).write_text("{}")
    with pytest.raises(ModelMissing, match=r"no \*\.safetensors"):
        start_of(str(tmp_path / "pickled"), tmp_path, tmp_path)
