"""A small corpus and a small model that has been taught to write turns: what tests of training start from."""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from making import database_at, make_school
from train.tiny import make_tiny_model

from agro_data.databases.discovery.catalog import find_databases
from agro_data.publish.read import Version
from agro_data.records import EXAMPLE
from agro_train.cold_start import ColdStartConfig
from agro_train.finetuning.config import FineTuning
from agro_train.language_model.loading import load
from agro_train.language_model.tokens import encode, encode_prompt
from agro_train.questions import PLAIN, questions_of_version
from agro_train.reinforcement.config import GrpoConfig
from agro_train.runs.store import Draft
from agro_train.sampling.types import Sampled
from agro_train.tasks import PromptFormat

COLUMNS = {
    "school": ("name", "city", "founded"),
    "teacher": ("name", "subject", "salary"),
    "lesson": ("room", "day", "pupils"),
}
MATCHED = "SELECT s.name FROM teacher AS t JOIN school AS s ON t.school_id = s.school_id"
GOLD = f"{MATCHED} WHERE t.subject = 'Music' AND t.salary > 3000"
TURNS = (
    "<think>so</think><sql>SELECT name FROM school</sql>",
    "<think>so</think><solution>SELECT name FROM school</solution>",
    "<think>so</think><solution>SELECT city FROM school</solution>",
)


TUNING = FineTuning(
    epochs=1.0,
    learning_rate=1e-3,
    batch=1,
    micro_batch=1,
    max_length=256,
    packing=False,
    lora=0,
    precision="float32",
    check_every=0,
    save_every=2,
    seed=0,
    share_prompts=False,
)


def example(number: int, sql: str = GOLD, **changes: Any) -> dict[str, Any]:
    row = {
        "example_id": f"{number:016x}",
        "db_id": "school",
        "split": "train",
        "hardness": "medium",
        "question": "Which schools have a music teacher who earns more than 3000?",
        "evidence": None,
        "sql": sql,
        "steps": [
            {"name": "matched", "intent": "Match the teachers and schools.", "sql": MATCHED},
            {"name": "answer", "intent": "Give the school names.", "sql": sql},
        ],
        "order_matters": False,
        "alternatives": [],
        "instances": [],
        **PLAIN,
    }
    return {**row, **changes}


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
    content = database_at(databases).content_hash
    facts = {
        "corpus": "school",
        "version": path.name,
        "fingerprint": "0" * 64,
        "databases": [{"db_id": "school", "content_hash": content, "dialect": "sqlite"}],
        "config": {},
        "split": {"mark": "", "databases": {"school": "train"}},
        "counts": {"examples": len(rows)},
    }
    (path / "manifest.json").write_text(json.dumps({**facts, **manifest}), encoding="utf-8")
    return Version(path)


def make_split_corpus(folder: Path) -> Version:
    """A version below `folder` with a train split about one database and a test split about another."""
    databases = folder / "databases"
    version = make_corpus(folder, config={"databases": str(databases)})
    make_school(databases / "academy.sqlite", tag="A")
    shutil.copytree(version.path / "instances" / "school", version.path / "instances" / "academy")
    file = version.path / "data" / "train-00000.parquet"
    rows = pl.read_parquet(file).with_columns(steps=pl.lit([], dtype=EXAMPLE["steps"]))
    rows.write_parquet(file)
    for split in ("validation", "test"):
        rows.with_columns(
            example_id=pl.col("example_id").str.replace("00", split[:2].encode().hex()[:2]),
            db_id=pl.lit("academy"),
            split=pl.lit(split),
            instances=pl.lit(["academy/other.sqlite"]),
        ).write_parquet(file.with_name(f"{split}-00000.parquet"))
    manifest = json.loads((version.path / "manifest.json").read_text())
    manifest["databases"] = [
        {"db_id": one.db_id, "content_hash": one.content_hash, "dialect": "sqlite"}
        for one in find_databases(databases).databases
    ]
    (version.path / "manifest.json").write_text(json.dumps(manifest))
    return Version(version.path)


class Scripted:
    """A sampler that writes what `script` says to the text so far and the seed."""

    def __init__(self, tokenizer: Any, script: Callable[[str, int], str]) -> None:
        self.tokenizer = tokenizer
        self.script = script

    def __call__(
        self, prefixes: Sequence[Sequence[int]], *, temperature: float, max_tokens: int, seeds: Sequence[int | None]
    ) -> list[Sampled]:
        texts = [self.script(self.tokenizer.decode(ids), seed or 0) for ids, seed in zip(prefixes, seeds, strict=True)]
        turns = [encode(text, self.tokenizer) for text in texts]
        return [Sampled(ids[:max_tokens], [-0.5] * len(ids[:max_tokens]), len(ids) > max_tokens) for ids in turns]


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


def draft(folder: Path) -> Draft:
    """A run that is begun, in `folder`."""
    folder.mkdir(exist_ok=True)
    return Draft(folder, "0" * 64)


def make_writer(
    folder: Path, prompts: Sequence[str], texts: Sequence[str] = TURNS, steps: int = 60, head: int | None = None
) -> Path:
    """The tiny model, taught for a moment to write one of `texts`: some of its turns are well formed, others not."""
    import torch

    model = load(str(make_tiny_model(folder, head=head)), folder)
    rows = [
        (encode_prompt(prompt, model.tokenizer), encode(text, model.tokenizer))
        for prompt, text in zip(itertools.cycle(prompts), texts, strict=False)
    ]
    longest = max(len(prompt) + len(turn) for prompt, turn in rows)
    inputs = torch.tensor([[*prompt, *turn, *[0] * (longest - len(prompt) - len(turn))] for prompt, turn in rows])
    labels = torch.full_like(inputs, -100)
    for row, (prompt, turn) in enumerate(rows):
        labels[row, len(prompt) : len(prompt) + len(turn)] = torch.tensor(turn)
    optimizer = torch.optim.AdamW(model.network.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = model.network(input_ids=inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.network.save_pretrained(folder)
    return folder


def prompts_of(version: Version, turns: int = 4) -> list[str]:
    """The prompts of a corpus made by `make_corpus`."""
    root = version.path.parents[1]
    questions = questions_of_version(version, root / "databases", root / "cache", "train")
    return [task.prompt for task in questions.tasks(PromptFormat(turns=turns))]


def cold_start_config(corpus: Version, model: Path) -> ColdStartConfig:
    """A small cold start of `model` on a corpus made by `make_split_corpus`."""
    root = corpus.path.parents[1]
    return ColdStartConfig(
        corpus=str(corpus.path),
        databases=str(root / "databases"),
        trajectories=str(root),
        models=str(root / "models"),
        cache=str(root / "cache"),
        model=str(model),
        examples=8,
        embedding_model="structural",
        batch=2,
        micro_batch=2,
        max_length=2_000,
        check_questions=2,
        precision="float32",
    )


def grpo_config(corpus: Version, writer: Path, models: Path) -> GrpoConfig:
    """Two small steps of `writer` on a corpus made by `make_corpus`."""
    root = corpus.path.parents[1]
    return GrpoConfig(
        corpus=str(corpus.path),
        databases=str(root / "databases"),
        cache=str(root / "cache"),
        models=str(models),
        model=str(writer),
        workers=1,
        prompts=8,
        select_rollouts=0,
        prompts_per_step=2,
        group=8,
        micro_batch=8,
        steps=2,
        learning_rate=1e-3,
        turn_tokens=40,
        rollout_tokens=160,
        tensorboard=False,
    )
