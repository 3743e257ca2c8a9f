"""From an asset's config to its program's settings: refused where they contradict each other, and written to a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from agro_data.config import ConfigError
from agro_data.defs.place import Place
from agro_data.fingerprint import stable_hash
from agro_data.work import write_json
from agro_train.cold_start import ColdStartConfig
from agro_train.evaluate import EvaluationConfig
from agro_train.programs.settings import Settings, settings_from, settings_to
from agro_train.reinforcement.config import GrpoConfig
from agro_train.trajectories.config import TrajectoriesConfig

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PLACED = frozenset(("corpus", "databases", "models", "cache", "model", "learn_from", "trajectories"))  # said elsewhere
_BOTH = {"seed", "workers"}
MAKING = frozenset(field.name for field in fields(TrajectoriesConfig)) - _BOTH  # settings of what is learnt from
LEARNING = frozenset(field.name for field in fields(ColdStartConfig)) - MAKING - _BOTH  # and of learning from it

PROGRAMS: Mapping[str, type[ColdStartConfig] | type[GrpoConfig] | type[EvaluationConfig]] = {
    "cold_start_trajectories": ColdStartConfig,
    "cold_start_model": ColdStartConfig,
    "grpo_model": GrpoConfig,
    "model_evaluation": EvaluationConfig,
}


def settings_of(config: dg.Config, *without: str, idle: Iterable[str] = ()) -> dict[str, Any]:
    """An asset's own settings with the further ones on top, by the names of the program's settings.

    Raises `dg.Failure` for a further one that the asset, or the resource `training`, says itself, and for one that is
    `idle`: of the program's settings, but without effect on this asset.
    """
    values: dict[str, Any] = config.model_dump()
    further: dict[str, Any] = values.pop("settings")
    if theirs := sorted(further.keys() & PLACED.union(idle)):
        raise dg.Failure(
            description=f"settings: {', '.join(theirs)} cannot be given here; the resource training says which corpus, "
            "databases and model, what an asset is made from says how schemas are read, and trajectories and learning "
            "have settings of their own",
            allow_retries=False,
        )
    return {name: value for name, value in values.items() if name not in without} | further


def refuse_unknown(run_config: Mapping[str, Any]) -> None:
    """Raise `dg.Failure` for a further setting, of whichever asset of a run, that its program does not have: that of
    GRPO would else be found when the cold start is trained."""
    for op, kind in PROGRAMS.items():
        further = run_config.get("ops", {}).get(op, {}).get("config", {}).get("settings", {})
        if further.keys() - {field.name for field in fields(kind)}:
            usable(kind, further)


def usable(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Settings of a program. Raises `dg.Failure`, which says what is wrong with them."""
    try:
        return settings_from(kind, values)
    except ConfigError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from None


def written(config: DataclassInstance, place: Place) -> Path:
    """The settings as a file for the program, named by what it holds."""
    values = settings_to(config)
    path = place.cache / "settings" / f"{type(config).__name__}-{stable_hash(values)[:16]}.json"
    write_json(path, values)
    return path
