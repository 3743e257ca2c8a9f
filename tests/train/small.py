"""A small corpus and a small model that has been taught to write turns: what tests of training start from."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from making import make_school
from train.tiny import make_tiny_model

from agro_data.databases.catalog import find_databases
from agro_data.publish.read import Version
from agro_data.records import EXAMPLE

COLUMNS = {
    "school": ("name", "city", "founded"),
    "teacher": ("name", "subject", "salary"),
    "lesson": ("room", "day", "pupils"),
}
TURNS = (
    "<think>so</think><sql>SELECT name FROM school</sql>",
    "<think>so</think><solution>SELECT name FROM school</solution>",
    "<think>so</think><solution>SELECT city FROM school</solution>",
)


def make_corpus(folder: Path, golds: Sequence[str] = (), **manifest: Any) -> Version:
    """A version whose questions ask for each column of a school, in `folder`; its database is in `databases` there.

    An instance has other rows. The rows hold what training reads; `golds` are further examples, which may be broken.
    """
    databases, path = folder / "databases", folder / "school" / "v0001-00000000"
    databases.mkdir(parents=True)
    instance = path / "instances" / "school" / "other.sqlite"
    instance.parent.mkdir(parents=True)
    (path / "data").mkdir()
    source = make_school(databases / "school.sqlite")
    shutil.copy(source, instance)
    connection = sqlite3.connect(instance)
    connection.execute("INSERT INTO school VALUES (7, 'Another', 'Nice', 1850)")
    connection.commit()
    connection.close()
    asked = [(f"What is the {column} of each {table}?", f"SELECT {column} FROM {table}") for table, column in _all()]
    rows = [_row(number, *pair) for number, pair in enumerate([*asked, *(("What?", gold) for gold in golds)])]
    frame = pl.DataFrame(rows, schema_overrides={name: EXAMPLE[name] for name in rows[0]})
    frame.write_parquet(path / "data" / "train-00000.parquet")
    content = find_databases(databases).databases[0].content_hash
    facts = {
        "corpus": "school",
        "version": path.name,
        "fingerprint": "0" * 64,
        "databases": [{"db_id": "school", "content_hash": content, "dialect": "sqlite"}],
        "split": {"mark": "", "databases": {"school": "train"}},
        "counts": {"examples": len(rows)},
    }
    (path / "manifest.json").write_text(json.dumps({**facts, **manifest}), encoding="utf-8")
    return Version(path)


def _all() -> list[tuple[str, str]]:
    return [(table, column) for table, columns in COLUMNS.items() for column in columns]


def _row(number: int, question: str, sql: str) -> dict[str, Any]:
    return {
        "example_id": f"{number:016x}",
        "db_id": "school",
        "dialect": "sqlite",
        "split": "train",
        "question": question,
        "evidence": None,
        "sql": sql,
        "hardness": "easy",
        "order_matters": False,
        "alternatives": [],
        "instances": ["school/other.sqlite"],
    }


def make_writer(folder: Path, texts: Sequence[str] = TURNS, steps: int = 80) -> Path:
    """The tiny model, taught for a moment to write one of `texts`: some of its turns are well formed, others not."""
    import torch

    from agro_train.loading import load

    model = load(str(make_tiny_model(folder)), folder)
    start = model.tokenizer("<|assistant|>", add_special_tokens=False)["input_ids"]
    turns = [start + model.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    longest = max(map(len, turns))
    inputs = torch.tensor([turn + [0] * (longest - len(turn)) for turn in turns])
    ignored = torch.arange(longest) >= torch.tensor([[len(turn)] for turn in turns])
    optimizer = torch.optim.AdamW(model.network.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        prompts = torch.randint(0, 300, (len(texts), 300), generator=generator)  # whatever the prompt says
        places = torch.arange(300 + longest) + torch.randint(0, 400, (1,), generator=generator)
        labels = torch.cat([torch.full_like(prompts, -100), inputs.masked_fill(ignored, -100)], dim=1)
        out = model.network(
            input_ids=torch.cat([prompts, inputs], dim=1), position_ids=places.expand(len(texts), -1), labels=labels
        )
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
    model.network.save_pretrained(folder)
    return folder
