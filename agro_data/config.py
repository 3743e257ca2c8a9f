"""What decides a corpus (`BuildConfig`) and what only decides how it is made (`RunConfig`).

Only the first enters the fingerprint: more workers or another folder never invalidate work.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from agro_data.errors import InWords

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")  # of a corpus
STRUCTURAL = "structural"  # embeddings of the SQL's structure alone: needs no model and no torch

Values = Literal["source", "synthetic"]
SplitBy = Literal["auto", "database", "skeleton"]
Generator = Literal["grammar", "log", "llm", "both"]
Wording = Literal["grammar", "paraphrase", "direct"]


class ConfigError(InWords, ValueError):
    """A setting that cannot be used, in words for the person who gave it."""


@dataclass(frozen=True)
class BuildConfig:
    """Everything that, with the databases' content and the code, decides a corpus byte for byte (instances in DuckDB
    files: row for row).

    `databases` and `exclude` are paths: what enters the fingerprint is what they hold, not where they are.
    """

    databases: str  # a database, or a folder of them
    name: str = "corpus"  # the corpus; its folder below the output folder
    size: int = 2_000  # rows over all splits
    seed: int = 0  # same seed, same bytes
    only: tuple[str, ...] = ()  # ids of the databases to use; none: all
    styles_per_sql: int = 1  # questions for each SQL, 1 to 6
    values: Values = "source"  # synthetic: no value of the source enters anything that is written
    split_by: SplitBy = "auto"  # what no two splits share; auto: databases, from three groups on
    exclude: tuple[str, ...] = ()  # files or folders of questions and SQL that must not occur
    query_log: str = ""  # SQL, as text or in a table; the build asks more of the same kinds
    log_dialect: str = ""  # the engine whose SQL it holds: postgres, snowflake, ...; none: that of the databases
    focus: str = ""  # a file of `agro next-round`; asks more of what the trained model fails at
    generator: Generator = "grammar"  # who writes SQL; log varies `query_log`, llm asks `writer`, both: half each
    writer: str = ""  # a model: Hub id or folder, `vllm:` before either for vLLM, or the address of a server
    wording: Wording = "grammar"  # paraphrase: `writer` rewords the grammar's questions; direct: it writes them
    phrasings: int = 3  # replies of `writer` for each question; the most central good one is kept
    embedding_model: str = DEFAULT_MODEL  # Hub id or path; `structural` needs no model
    oversample: float = 1.3  # verified queries for each row asked for, so that selection has a choice
    unanswerable: float = 0.0  # share of rows without a single answer on the database shown, at most a third
    certify: bool = True  # certify every row; without, `instances` is empty and `mutants_*` are 0
    views: bool = False  # the grammar asks about all views, not only about those that semantics.yml or dbt describes
    min_kill_rate: float = 0.95  # least share of a row's mutants told apart; without mutants proved equivalent

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"size is {self.size}: ask for at least 1 example")
        if not 1.0 <= self.oversample <= 20.0:
            raise ConfigError(f"oversample is {self.oversample}: candidates per example must be between 1 and 20")
        if not 0.0 <= self.min_kill_rate <= 1.0:
            raise ConfigError(f"min_kill_rate is {self.min_kill_rate}: a share of mutants is between 0 and 1")
        if not 0.0 <= self.unanswerable <= 1 / 3:
            raise ConfigError(
                f"unanswerable is {self.unanswerable}: a share is between 0 and a third, so that asking back where "
                "there is an answer never pays"
            )
        if not 1 <= self.styles_per_sql <= 6:
            raise ConfigError(f"styles_per_sql is {self.styles_per_sql}: there are 6 styles, ask for 1 to 6")
        if self.values not in ("source", "synthetic"):
            raise ConfigError(f"values is {self.values!r}: use 'source' or 'synthetic'")
        if self.split_by not in ("auto", "database", "skeleton"):
            raise ConfigError(f"split_by is {self.split_by!r}: use 'auto', 'database' or 'skeleton'")
        if self.generator not in get_args(Generator):
            raise ConfigError(f"generator is {self.generator!r}: use {', '.join(get_args(Generator))}")
        if self.generator == "log" and not self.query_log:
            raise ConfigError("generator is 'log': say which log with query_log, a file of SQL")
        if self.log_dialect and not self.query_log:
            raise ConfigError(f"log_dialect is {self.log_dialect!r}: it is for query_log, which is not given")
        if self.generator in ("llm", "both") and not self.writer:
            raise ConfigError(
                f"generator is {self.generator!r}: say which model writes with writer, a Hub id, a folder or the "
                "address of a server"
            )
        if self.wording not in get_args(Wording):
            raise ConfigError(f"wording is {self.wording!r}: use {', '.join(get_args(Wording))}")
        if self.wording != "grammar" and not self.writer:
            raise ConfigError(
                f"wording is {self.wording!r}: say which model writes with writer, a Hub id, a folder or the address "
                "of a server"
            )
        if not 1 <= self.phrasings <= 16:
            raise ConfigError(f"phrasings is {self.phrasings}: ask for 1 to 16 replies a question")
        if not NAME.fullmatch(self.name):
            raise ConfigError(
                f"name is {self.name!r}: use letters from a to z, digits, '-' and '_', a letter or digit first, 80 at "
                "most (it names a folder)"
            )
        for place in ("query_log", "focus"):
            object.__setattr__(self, place, os.path.expanduser(getattr(self, place)))
        object.__setattr__(self, "exclude", tuple(map(os.path.expanduser, self.exclude)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, in field order."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> BuildConfig:
        """The configuration of a mapping. Raises `ConfigError` that names an unknown or missing key."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ConfigError(f"unknown setting {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        if "databases" not in values:
            raise ConfigError("the setting 'databases' (a path) is missing")
        try:
            return TypeAdapter(cls).validate_python(values)
        except ValidationError as error:
            raise ConfigError("; ".join(map(_in_words, error.errors()))) from error

    @classmethod
    def from_file(cls, path: Path) -> BuildConfig:
        """From a JSON file: a plain configuration, or a version's `manifest.json`, which repeats that build."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: cannot be read as JSON ({error})") from error
        if not isinstance(content, dict):
            raise ConfigError(f"{path}: expected a mapping of settings")
        return cls.from_dict(content.get("config", content))


def _in_words(error: ErrorDetails) -> str:
    """What pydantic found: which setting, what is wrong, and what was given."""
    where = ".".join(str(part) for part in error["loc"])
    if not where:  # `__post_init__` refused, in words of its own
        return error["msg"].removeprefix("Value error, ")
    return f"{where}: {error['msg']}, found {error['input']!r}"


@dataclass(frozen=True)
class RunConfig:
    """How a build runs; none of it changes a byte of the result."""

    out: Path = Path("datasets")  # the folder that holds the corpora
    cache: Path | None = None  # work folders and profiles; default: $AGRO_CACHE, else .agro-cache beside `out`
    workers: int = 2  # processes that sample and verify
    seconds: float = 10.0  # per statement in the sandbox; SQLite's are bounded by steps long before, see ARCHITECTURE

    def __post_init__(self) -> None:
        object.__setattr__(self, "out", Path(self.out))  # a path in a script is often text
        if self.cache is not None:
            object.__setattr__(self, "cache", Path(self.cache))
        if self.workers < 1:
            raise ConfigError(f"workers is {self.workers}: at least 1 is needed")


def cache_folder(run: RunConfig) -> Path:
    """`RunConfig.cache`, else `$AGRO_CACHE`, else `.agro-cache` beside the output folder; absolute."""
    named = run.cache or (Path(os.environ["AGRO_CACHE"]) if os.environ.get("AGRO_CACHE") else None)
    beside = Path(os.path.abspath(run.out.expanduser())).parent / ".agro-cache"  # "." alone has no parent
    return (named or beside).expanduser().resolve()
