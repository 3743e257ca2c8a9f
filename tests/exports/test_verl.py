"""verl's own data set reads the exported Parquet and keeps what its reward needs, where verl is installed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from exports.making_exports import exported
from train.tiny import make_tiny_model

from agro_data.publish.read import Version

pytestmark = pytest.mark.slow


def test_its_data_set_reads_the_files(corpus: Version, tmp_path: Path) -> None:
    reading = pytest.importorskip("verl.utils.dataset.rl_dataset", reason="needs verl >= 0.9")
    omegaconf = pytest.importorskip("omegaconf")
    transformers = pytest.importorskip("transformers")
    folder = exported(corpus, "verl", tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(make_tiny_model(tmp_path / "tiny"))
    settings = {"cache_dir": str(tmp_path / "cache"), "max_prompt_length": 8_000, "filter_overlong_prompts_workers": 1}
    rows = reading.RLHFDataset([str(folder / "train.parquet")], tokenizer, omegaconf.OmegaConf.create(settings))
    written = pl.read_parquet(folder / "train.parquet").to_dicts()
    assert len(rows) == len(written), "no prompt was dropped"
    for number, row in enumerate(written):
        found = rows[number]
        assert [dict(message) for message in found["raw_prompt"]] == row["prompt"]
        assert found["data_source"] == row["data_source"]
        assert found["reward_model"]["ground_truth"] == row["reward_model"]["ground_truth"]
        assert found["index"] == row["extra_info"]["index"] == number
        assert found["extra_info"]["instances"] == row["extra_info"]["instances"]
    assert len(reading.collate_fn([rows[0], rows[1]])["raw_prompt"]) == 2
