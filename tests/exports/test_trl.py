"""The trainers of TRL take the exports as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from exports.making_exports import exported
from train.tiny import make_tiny_model

from agro_data.exports.grading import Grader
from agro_data.publish.read import Version

pytestmark = pytest.mark.slow


def common(folder: Path) -> dict[str, Any]:
    return {
        "output_dir": str(folder / "run"),
        "max_steps": 1,
        "per_device_train_batch_size": 2,
        "report_to": [],
        "use_cpu": True,
        "save_strategy": "no",
    }


@pytest.fixture
def dataset(corpus: Version, tmp_path: Path) -> Any:
    datasets = pytest.importorskip("datasets")

    def load(form: str) -> Any:
        folder = exported(corpus, form, tmp_path)
        return datasets.load_dataset(str(folder / "data"), cache_dir=str(tmp_path / "cache"))["train"].select(range(4))

    return load


def test_sft(dataset: Any, tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    model = str(make_tiny_model(tmp_path / "tiny"))
    trainer = trl.SFTTrainer(model, trl.SFTConfig(**common(tmp_path), max_length=None), train_dataset=dataset("sft"))
    batch = next(iter(trainer.get_train_dataloader()))
    trained = batch["labels"][0][batch["labels"][0] >= 0]
    assert "<solution>" in trainer.processing_class.decode(trained)
    assert "Question:" not in trainer.processing_class.decode(trained)
    assert trainer.train().training_loss > 0


def test_dpo(dataset: Any, tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    model = str(make_tiny_model(tmp_path / "tiny"))
    settings = trl.DPOConfig(**common(tmp_path), max_length=None)
    assert trl.DPOTrainer(model, args=settings, train_dataset=dataset("preference")).train().training_loss > 0


def test_grpo(dataset: Any, tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    rows = dataset("grpo")
    grader = Grader(tmp_path / "grpo")
    seen: list[list[float]] = []

    def reward(completions: Any, **columns: Any) -> list[float]:
        """The export's own, and one answer of the group replaced by its gold: that one has to earn."""
        said = [[{"role": "assistant", "content": columns["sql"][0]}], *completions[1:]]
        seen.append(grader.reward(said, **columns))
        return seen[-1]

    settings = trl.GRPOConfig(**common(tmp_path), num_generations=2, max_completion_length=4)
    try:
        model = str(make_tiny_model(tmp_path / "tiny"))
        trl.GRPOTrainer(model, reward, args=settings, train_dataset=rows).train()
    finally:
        grader.close()
    assert seen == [[1.0, 0.0]]
