"""agro-sql's factory: databases in, trusted text-to-SQL examples out.

`build` is the whole pipeline; the packages below it are its stages and work by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agro_data.config import BuildConfig, ConfigError, RunConfig
    from agro_data.evaluation.evaluate import Evaluation, evaluate
    from agro_data.evaluation.load import load_pairs, load_predictions
    from agro_data.exports.export import Exported, export
    from agro_data.migration.drift import Drift, verify_version
    from agro_data.migration.opening import open_migrated
    from agro_data.pairs.audit import Audit, audit_pairs
    from agro_data.pairs.verify import Verified, verify_pairs
    from agro_data.pipeline import Build, build
    from agro_data.publish.read import Version, open_version
    from agro_data.rounds.next_round import Round, next_round

_HOMES = {
    "Audit": "agro_data.pairs.audit",
    "Build": "agro_data.pipeline",
    "BuildConfig": "agro_data.config",
    "ConfigError": "agro_data.config",
    "Drift": "agro_data.migration.drift",
    "Evaluation": "agro_data.evaluation.evaluate",
    "Exported": "agro_data.exports.export",
    "Round": "agro_data.rounds.next_round",
    "RunConfig": "agro_data.config",
    "Verified": "agro_data.pairs.verify",
    "Version": "agro_data.publish.read",
    "audit_pairs": "agro_data.pairs.audit",
    "build": "agro_data.pipeline",
    "evaluate": "agro_data.evaluation.evaluate",
    "export": "agro_data.exports.export",
    "load_pairs": "agro_data.evaluation.load",
    "load_predictions": "agro_data.evaluation.load",
    "next_round": "agro_data.rounds.next_round",
    "open_migrated": "agro_data.migration.opening",
    "open_version": "agro_data.publish.read",
    "verify_pairs": "agro_data.pairs.verify",
    "verify_version": "agro_data.migration.drift",
}
__all__ = [
    "Audit",
    "Build",
    "BuildConfig",
    "ConfigError",
    "Drift",
    "Evaluation",
    "Exported",
    "Round",
    "RunConfig",
    "Verified",
    "Version",
    "audit_pairs",
    "build",
    "evaluate",
    "export",
    "load_pairs",
    "load_predictions",
    "next_round",
    "open_migrated",
    "open_version",
    "verify_pairs",
    "verify_version",
]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the sandbox's workers import this package and must start quickly.
    if name not in _HOMES:
        raise AttributeError(f"module 'agro_data' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
