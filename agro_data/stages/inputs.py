"""What a build is given besides databases, looked at before anything costly is done."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from agro_data.config import STRUCTURAL, BuildConfig, ConfigError
from agro_data.databases.errors import first_line
from agro_data.databases.types import Dialect
from agro_data.diversity.excluded import UnreadableExclusion, read_excluded
from agro_data.focus import read_focus
from agro_data.intent.logs.query_log import likely_engines, read_log
from agro_data.llm.endpoint import EndpointError
from agro_data.llm.writers import identity_of
from agro_data.models import ModelMissing, find_model
from agro_data.sql.forms.foreign import engines
from agro_data.words import counted


def check_inputs(config: BuildConfig, dialects: Iterable[Dialect]) -> tuple[list[str], list[str]]:
    """Problems and notes about the files to exclude, query log, focus and embedding model, one line each.

    `dialects` are the databases' dialects. Raises `ConfigError` for what the build could not do without.
    """
    try:
        read_excluded([Path(path) for path in config.exclude])
        if config.embedding_model != STRUCTURAL:
            _check_model(config.embedding_model)
        if config.focus:
            read_focus(Path(config.focus))
        return _log_lines(config, sorted(set(dialects)))
    except (UnreadableExclusion, ModelMissing) as error:
        raise ConfigError(str(error)) from error


def check_writer(config: BuildConfig) -> dict[str, str]:
    """The identity of the model that writes, which is asked whether it is there; empty where none does.

    Raises `ConfigError`.
    """
    if not config.writer:
        return {}
    try:
        return dict(identity_of(config.writer))
    except (EndpointError, ModelMissing) as error:
        raise ConfigError(f"writer {config.writer}: {error}") from error


def _check_model(name: str) -> None:
    if find_spec("sentence_transformers") is None:
        raise ConfigError(
            f"embedding model {name} needs sentence-transformers: install agro-sql with the extra 'embed', "
            f"or use --embedding-model {STRUCTURAL}"
        )
    find_model(name)


OTHERS = "; if they are another engine's, say whose (--log-dialect)"


def _log_lines(config: BuildConfig, dialects: list[Dialect]) -> tuple[list[str], list[str]]:
    if not config.query_log:
        return [], []
    path = Path(config.query_log)
    if config.log_dialect and config.log_dialect not in engines():
        raise ConfigError(f"log_dialect is {config.log_dialect!r}: use {', '.join(engines())}, or leave it out")
    try:
        readings = [(dialect, read_log(path, dialect, config.log_dialect)) for dialect in dialects]
        whose = {dialect: _whose(path, dialect, config) for dialect, _ in readings}
    except OSError as error:
        raise ConfigError(f"query log {path}: cannot be read: {error.strerror or first_line(error)}") from error
    problems = [
        f"query log {path.name}: holds no query that {config.log_dialect or dialect} could read, and changes nothing; "
        "expected SELECT statements, one a line or each with a semicolon, or a table with a column of them"
        f"{whose[dialect] or OTHERS * (not config.log_dialect)}"
        for dialect, log in readings
        if not log.queries
    ]
    notes = [
        f"query log {path.name}: {sum(log.shapes.values()):,} queries read as {config.log_dialect or dialect}, "
        f"{counted(log.ignored, 'pieces')} ignored (no query that it reads){whose[dialect]}"
        for dialect, log in readings
        if log.queries
    ]
    return problems, notes


def _whose(path: Path, dialect: Dialect, config: BuildConfig) -> str:
    """Whose SQL a log rather is, as a clause; "" where nothing tells that it is another engine's."""
    found = likely_engines(path, dialect, config.log_dialect)
    if found is None:
        return ""
    names, as_read = " or ".join(found.engines[:3]), config.log_dialect or dialect
    return (
        f"; {names} knows each function of {counted(found.known, 'statements')}, {as_read} of {found.known_as_read:,}: "
        f"say whose they are (--log-dialect {found.engines[0]})"
    )
