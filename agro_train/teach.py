"""Trajectories alone, for a cold start to learn from later: `python -m agro_train.teach --config settings.json`.

The settings are those of `cold_start.ColdStartConfig`; `learn_from` then names what this wrote. Those that say how a
model learns, `max_length` among them, have no part in it.
"""

from __future__ import annotations

import json
from pathlib import Path

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.publish.read import open_version
from agro_train.cold_start import ColdStartConfig
from agro_train.language_model.loading import check_trainable, load_tokenizer
from agro_train.programs.settings import SettingsError, settings_of_program
from agro_train.runs.lineage import start_of
from agro_train.sql_env import SQL_LIMITS
from agro_train.trajectories.material import Material, Report, check_paths, sources_of, teach


def main() -> None:
    """Make trajectories as a settings file says, and print where they are."""
    config = settings_of_program(ColdStartConfig, "agro_train.teach", __doc__)
    material = make(config, report=lambda line: print(json.dumps(line), flush=True))
    facts = {
        "phase": "trajectories",
        "teacher": material.teacher,
        "chosen": material.trajectories.height,
        **material.selection,
    }
    print(json.dumps({**facts, "dropped": material.dropped}), flush=True)
    print(f"trajectories: {material.stored}", flush=True)


def make(config: ColdStartConfig, report: Report = lambda line: None) -> Material:
    """Make and store the trajectories of a corpus. `report` is told how far a model that teaches has come.

    Raises like `cold_start.train`.
    """
    if not config.corpus:
        raise SettingsError("trajectories are stored beside the corpus that they are of: give `corpus` (a version)")
    corpus = open_version(Path(config.corpus))
    check_paths(config)
    _, base = start_of(config.model, Path(config.models), Path(config.cache))
    check_trainable(base)
    with Sandbox(config.workers, SQL_LIMITS) as sandbox:
        return teach(config, corpus, sources_of(config, corpus), load_tokenizer(base), sandbox, report)


if __name__ == "__main__":
    main()
