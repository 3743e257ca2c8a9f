"""What every form of export starts from: the rows of a version, each with its prompt, and the databases behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from agro_data.config import ConfigError
from agro_data.databases.types import Database
from agro_data.profiling.serialising.asked import Source, open_source, prompt_of
from agro_data.profiling.serialising.serialise import BUDGET, STYLE, Style, check_serialiser, serialiser
from agro_data.protocol import Turn, inert, render_turn
from agro_data.publish.publication.checks import sources_of
from agro_data.publish.read import Version
from agro_data.publish.summary import SPLITS
from agro_data.sql.concealing import Hidden

Content = str | pl.DataFrame | Path  # a text, a frame (written as Parquet), a database that is copied


class ExportError(ConfigError):
    """A version that cannot be given in the form asked for, in words for the person who asked."""


@dataclass(frozen=True)
class Material:
    """`rows` have the columns of `records.EXAMPLE`, `prompt` and `position`, sorted by identity; `mutants` the columns
    of `publish.version.MUTANTS`; `instances` is the version's folder of that name.

    `private`: the version was made from surrogates, so that nothing of a source may be given on.
    """

    corpus: str
    version: str
    rows: pl.DataFrame
    mutants: pl.DataFrame
    sources: Mapping[str, Source]
    instances: Path
    private: bool = False

    def splits(self) -> dict[str, pl.DataFrame]:
        """The rows of each split that has any, in the order train, validation, test."""
        return by_split(self.rows)


@dataclass(frozen=True)
class LeftOut:
    """A row that the form cannot hold: `reason` is the same for all of a kind, `detail` what it was here."""

    example_id: str
    split: str
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.example_id, self.reason, self.detail)))


@dataclass(frozen=True)
class Form:
    """Files of an export by their relative paths; how many rows of each split they hold; rows that were left out with
    their reasons; what is worth knowing.
    """

    files: Mapping[str, Content]
    rows: Mapping[str, int]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


def gather(
    version: Version,
    databases: Path,
    profiles: Path,
    *,
    style: Style = STYLE,
    budget: int = BUDGET,
    clarify: bool = False,
) -> Material:
    """The material of a version whose databases lie below `databases`; profiles are kept in `profiles`.

    A prompt is `protocol.render_prompt` of a row. `profiling.serialising.serialise` writes its schema for the question,
    with `style` and `budget`, without anything that is hidden from the question. Questions without one answer are left
    out unless with `clarify`; where there are some, every prompt then says that one may ask back. Raises `ExportError`
    when a database is not there as it was.
    """
    where = f"{version.corpus} {version.name}"
    stored = version.manifest.get("schema_serialiser", serialiser())
    check_serialiser(stored, where=where)
    rows = version.examples().filter(pl.lit(clarify) | pl.col("answerable")).sort("example_id").collect()
    private = any(fact.get("values") == "synthetic" for fact in version.manifest["databases"])
    found = _found(version, databases, where, rows["db_id"].unique().sort().to_list())
    sources = {db_id: open_source(database, profiles, values=not private) for db_id, database in found.items()}
    rows = rows.with_columns(pl.Series("prompt", _prompts(rows, sources, style, budget), dtype=pl.String))
    rows = rows.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("split").alias("position"))
    return Material(
        version.corpus, version.name, rows, version.all_mutants(), sources, version.path / "instances", private
    )


def by_split(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each split that has any, in the order train, validation, test."""
    parts = {split: rows.filter(pl.col("split") == split) for split in SPLITS}
    return {split: part for split, part in parts.items() if part.height}


def counted(rows: pl.DataFrame) -> dict[str, int]:
    """How many of them each split has that has any."""
    return {split: part.height for split, part in by_split(rows).items()}


def messages(column: str, role: str, name: str) -> pl.Expr:
    """The text of `column` as a conversation of one message, in a column `name`."""
    return pl.concat_list(pl.struct(pl.lit(role).alias("role"), pl.col(column).alias("content"))).alias(name)


def answers(rows: pl.DataFrame) -> pl.Series:
    """The turn that answers each row, or asks back: its decomposition as the thought, its SQL as the solution."""
    said = [
        answer([step["intent"] for step in row["steps"] or []], row["sql"])
        if row["answerable"]
        else render_turn(Turn("No one query answers this.", "clarify", inert(row["clarification"]).strip()))
        for row in rows.select("steps", "sql", "answerable", "clarification").iter_rows(named=True)
    ]
    return pl.Series("answer", said, dtype=pl.String)


def answer(steps: list[str], sql: str) -> str:
    """A turn of the protocol that gives `sql` as the solution, thinking `steps`."""
    thought = inert(" ".join(" ".join(steps).split())).strip() or "One query answers it."
    return render_turn(Turn(thought, "solution", sql.strip()))


def _found(version: Version, databases: Path, where: str, names: list[str]) -> dict[str, Database]:
    if not databases.exists():
        raise ExportError(f"{databases}: the databases of {where} are not there; say where they are (--databases PATH)")
    found = {database.db_id: database for database in sources_of(version, databases)}
    missing = [name for name in names if name not in found]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ExportError(
            f"{databases}: database {', '.join(missing[:3])}{more} as it was when {where} was made is not here; give "
            "the folder that the corpus was built from, unchanged (--databases PATH)"
        )
    return {name: found[name] for name in names}


def _prompts(rows: pl.DataFrame, sources: Mapping[str, Source], style: Style, budget: int) -> list[str]:
    clarify = not rows["answerable"].all()
    prompts = []
    for row in rows.select("db_id", "question", "evidence", "hidden").iter_rows(named=True):
        shown = sources[row["db_id"]].without(tuple(map(Hidden.of, row["hidden"])))
        try:
            prompts.append(prompt_of(row, shown, style=style, budget=budget, clarify=clarify))
        except ValueError as error:
            raise ExportError(f"{error} (--budget TOKENS)") from error
    return prompts
