"""Trajectories as versions of their own: `<corpus>-trajectories/<version>/`, naming corpus version and teacher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.hashing import stable_hash
from agro_data.protocol import Step, Turn, render_transcript
from agro_data.publish.parquet import write_shards
from agro_data.publish.read import DERIVED, Version
from agro_data.publish.version import RECORDED, place_version, write_manifest
from agro_data.records import Columns, conform
from agro_data.software import library_versions
from agro_train.sql_env import SqlEnv

SCHEMA_VERSION = 3

TURN = pl.Struct(
    {
        "thought": pl.String,
        "action": pl.String,  # sql, solution or clarify
        "text": pl.String,
        "observation": pl.String,  # null at the end
        "error_class": pl.String,  # "" where the query ran; of the answer: ""
        "learnt": pl.Boolean,  # false of a turn that goes wrong: what follows it is learnt, not to go wrong
    }
)
_COLUMNS: Columns = {
    "trajectory_id": pl.String,  # 16 hex of SHA-256 over example, prompt and transcript
    "example_id": pl.String,
    "db_id": pl.String,
    "split": pl.String,
    "hardness": pl.String,
    "teacher": pl.String,  # decomposition, or the name of a model
    "features": pl.List(pl.String),  # of `teachers.FEATURES`, or of `acting.FEATURES`
    "turns": pl.List(TURN),
    "prompt": pl.String,
    "transcript": pl.String,  # what follows the prompt: turns and observations
}
TRAJECTORY = pl.Schema(_COLUMNS)
DROPPED = pl.Schema({"example_id": pl.String, "db_id": pl.String, "reason": pl.String, "detail": pl.String})


def trajectory_of(
    row: Mapping[str, Any],
    env: SqlEnv,
    prompt: str,
    features: Sequence[str],
    teacher: str,
    mistakes: Sequence[int] = (),
) -> dict[str, Any]:
    """A row of `TRAJECTORY`: how a row of `records.EXAMPLE` was answered in `env`, for one who reads `prompt`.

    `mistakes` are turns that go wrong; so are those whose query failed.
    """
    transcript = render_transcript(env.steps)
    classes = [*(look.error_class for look in env.looks), ""]
    return {
        "trajectory_id": stable_hash([row["example_id"], prompt, transcript])[:16],
        "example_id": row["example_id"],
        "db_id": row["db_id"],
        "split": row["split"],
        "hardness": row["hardness"],
        "teacher": teacher,
        "features": list(features),
        "turns": [
            {
                "thought": one.turn.thought,
                "action": one.turn.action,
                "text": one.turn.text,
                "observation": one.observation,
                "error_class": error_class,
                "learnt": not error_class and place not in mistakes,
            }
            for place, (one, error_class) in enumerate(zip(env.steps, classes, strict=True))
        ],
        "prompt": prompt,
        "transcript": transcript,
    }


def drop_of(row: Mapping[str, Any], reason: str, detail: str) -> dict[str, str]:
    """A row of `DROPPED`: why an attempt at a row of `records.EXAMPLE` is not learnt from."""
    return {"example_id": row["example_id"], "db_id": row["db_id"], "reason": reason, "detail": detail}


def write_trajectories(
    root: Path,
    corpus: Version,
    trajectories: pl.DataFrame,
    dropped: pl.DataFrame,
    *,
    teacher: str,
    settings: Mapping[str, Any],
    selection: Mapping[str, Any] | None = None,
) -> Path:
    """Write a version of `<corpus>-trajectories`; the same content gives the same one.

    `settings` repeat the making, `selection` tells how well those that were chosen cover those that were made.

    Raises `ValueError` when there is no trajectory, and like `publish.version.place_version`.
    """
    name = f"{corpus.corpus}-trajectories"
    if trajectories.is_empty():
        raise ValueError(f"{name}: no trajectory was right on all instances; see the reasons of those dropped")
    trajectories = conform(trajectories, TRAJECTORY).sort("trajectory_id")
    dropped = conform(dropped, DROPPED).sort(list(DROPPED))
    ids: list[str] = trajectories["trajectory_id"].to_list()
    identity = [SCHEMA_VERSION, corpus.fingerprint, teacher, dict(settings), ids, dropped.rows()]
    fingerprint = stable_hash(identity)

    def fill(draft: Path, version: str, existing: Sequence[Path]) -> None:
        for (split,), rows in trajectories.group_by("split", maintain_order=True):
            write_shards(rows, draft / "data", str(split))
        write_shards(dropped, draft / "dropped", "dropped")
        manifest = {
            "parent": existing[-1].name if existing else None,
            "schema_version": SCHEMA_VERSION,
            "corpus": name,
            "version": version,
            "fingerprint": fingerprint,
            DERIVED: {"name": corpus.corpus, "version": corpus.name, "fingerprint": corpus.fingerprint},
            "teacher": teacher,
            "settings": dict(settings),
            "selection": dict(selection or {}),
            "counts": _counts(trajectories, dropped),
            "library_versions": library_versions(RECORDED),
        }
        write_manifest(draft, manifest)

    return place_version(root, name, fingerprint, fill)


def _counts(trajectories: pl.DataFrame, dropped: pl.DataFrame) -> dict[str, Any]:
    return {
        "trajectories": trajectories.height,
        "dropped": tally(dropped["reason"]),
        "teachers": tally(trajectories["teacher"]),
        "splits": tally(trajectories["split"]),
        "features": tally(trajectories["features"].explode().drop_nulls()),
        "turns": tally(trajectories["turns"].list.len().cast(pl.String)),
    }


def tally(values: pl.Series) -> dict[str, int]:
    """How often each value is there, by value."""
    counted = values.value_counts().sort(values.name)
    return dict(counted.iter_rows())


def steps_of(row: Mapping[str, Any]) -> tuple[Step, ...]:
    """The turns of a row of `TRAJECTORY` with their observations."""
    return tuple(
        Step(Turn(turn["thought"], turn["action"], turn["text"]), turn["observation"]) for turn in row["turns"]
    )
