"""What models are asked: questions with their databases, from a corpus version or from any file of questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agro_data.config import ConfigError
from agro_data.databases.discovery.identity import database_identity
from agro_data.databases.types import Database
from agro_data.diversity.splits import SAME_DATABASE
from agro_data.evaluation.load import load_questions, only_database
from agro_data.evaluation.loaded import Pair
from agro_data.evaluation.sources import named_databases
from agro_data.hashing import stable_hash
from agro_data.profiling.serialising.asked import Source, open_source
from agro_data.publish.read import Version
from agro_data.records import ANSWERABILITY
from agro_train.tasks import PromptFormat, Task, find_sources, make_task

Row = Mapping[str, Any]

COLUMNS = (
    *("example_id", "db_id", "question", "evidence", "sql", "hardness"),
    *("order_matters", "alternatives", "instances", *ANSWERABILITY),
)
TOLD = 20  # faults of a file that is refused
# The default for a question that says nothing else.
PLAIN: Row = {"answerable": True, "hidden": [], "readings": [], "clarification": None}


class SeenInTraining(ConfigError):
    """A model is asked about a database that it was trained on."""


@dataclass(frozen=True)
class Questions:
    """Rows with the `COLUMNS` of a corpus; `sql` is "" where no gold is known, and `place` is where a person finds it.

    `databases` is their folder; `instances` is the folder of a corpus version's instances, or None. `clarify`: some
    questions have no single answer, and the prompts say so. `same_databases`: the questions were held back by a corpus
    of few databases, whose training questions are about the same ones. `problems` lists rows that could not be used,
    `notes` what else is worth knowing of the file.
    """

    name: str
    rows: tuple[Row, ...]
    sources: Mapping[str, Source]
    databases: Path
    instances: Path | None = None
    clarify: bool = False
    same_databases: bool = False
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def tasks(self, prompt_format: PromptFormat) -> list[Task]:
        """One task for each row, in order. Raises `ConfigError` when the budget has no room for any table."""
        return [self._task(row, prompt_format) for row in self.rows]

    def _task(self, row: Row, prompt_format: PromptFormat) -> Task:
        try:
            return make_task(
                row,
                self.sources[row["db_id"]],
                self.instances or Path(),
                replace(prompt_format, clarify=self.clarify or prompt_format.clarify),
            )
        except ValueError as error:
            place = row["place"]  # the place of a file's row begins with the file's name
            raise ConfigError(
                f"{place if place.startswith(self.name) else f'{self.name}, {place}'}: {error}"
            ) from error

    def first(self, count: int) -> Questions:
        """At most `count` of them, spread over the whole."""
        if count >= len(self.rows):
            return self
        step = len(self.rows) / count
        return replace(self, rows=tuple(self.rows[int(number * step)] for number in range(count)))

    def contents(self) -> dict[str, str]:
        """Content hash of each database asked about, by id."""
        return {name: self.sources[name].database.content_hash for name in sorted({row["db_id"] for row in self.rows})}

    def identities(self) -> list[list[str]]:
        """The identity of each database asked about: its content, and the files beside it, which decide how
        it is read.
        """
        return [database_identity(self.sources[name].database) for name in self.contents()]

    def about(self, databases: Iterable[str]) -> Questions:
        """Those about databases with these ids."""
        names = frozenset(databases)
        return replace(self, rows=tuple(row for row in self.rows if row["db_id"] in names))

    def without(self, contents: Iterable[str]) -> Questions:
        """The questions about databases whose content is none of these (hashes)."""
        hashes = frozenset(contents)
        return self.about(name for name, digest in self.contents().items() if digest not in hashes)

    def refuse_seen(self, trained_on: Iterable[str], model: str) -> None:
        """Raise `SeenInTraining` when a database asked about has the content of one of `trained_on` (hashes), unless
        the corpus holds questions back, and not databases."""
        if self.same_databases:
            return
        hashes, asked = frozenset(trained_on), self.contents()
        seen = [name for name, digest in asked.items() if digest in hashes]
        if seen:
            named = ", ".join(seen[:3]) + (f" and {len(seen) - 3} more" if len(seen) > 3 else "")
            raise SeenInTraining(
                f"{model} was trained on {len(seen)} of the {len(asked)} databases of {self.name} ({named}): what it "
                "scores there says nothing of unseen ones. Ask about others, or allow it with --allow-seen"
            )


def plain_row(
    *,
    example_id: str,
    db_id: str,
    question: str,
    place: str,
    evidence: str | None = None,
    sql: str = "",
    hardness: str = "",
    alternatives: Sequence[str] = (),
) -> Row:
    """The row of a question about which no more is known, with the `COLUMNS` of a corpus and its `place`."""
    known = {"example_id": example_id, "db_id": db_id, "question": question, "evidence": evidence, "sql": sql}
    more = {"hardness": hardness, "order_matters": None, "alternatives": list(alternatives), "instances": []}
    return {**known, **more, **PLAIN, "place": place}


def questions_of_version(
    version: Version, databases: Path, cache: Path, split: str = "test", columns: Sequence[str] = COLUMNS
) -> Questions:
    """A split of a corpus version, with these `columns` of it. Raises like `tasks.find_sources`."""
    frame = version.examples(split).select(columns).sort("example_id").collect()
    rows = [{**row, "place": f"{split} {row['example_id']}"} for row in frame.iter_rows(named=True)]
    sources = find_sources(version, databases, cache / "profiles", only=frame["db_id"].unique().to_list())
    name = f"{version.corpus} {version.name} {split}"
    clarify = bool(version.manifest["counts"].get("unanswerable"))
    instances = version.path / "instances" if any(row["instances"] for row in rows) else None  # --no-certify
    same = split != "train" and version.manifest["split"]["mark"] == SAME_DATABASE
    return Questions(name, tuple(rows), sources, databases, instances, clarify, same)


def questions_of_file(path: Path, databases: Path, cache: Path) -> Questions:
    """The questions of a file or folder in any form that `evaluation.load` knows; their golds may be unknown. They are
    about the one database that `databases` is, where no row names any.

    A row about a database that cannot be used, or without a table that can be read, costs only itself. Raises
    `UnreadableInput`, and `ConfigError` when a database that they name is not below `databases`, or every row is such a
    one.
    """
    loaded = load_questions(path, only_database(databases))
    found, missing, unusable = named_databases(databases, {pair.db_id for pair in loaded.pairs})
    if len(missing) > len(unusable):
        told = [_unknown(name, why, databases, loaded.pairs) for name, why in missing.items()]
        raise ConfigError(_some([*told, *map(str, loaded.problems)]))
    sources = {db_id: open_source(database, cache / "profiles") for db_id, database in found.items()}
    closed = missing | {db_id: why for db_id, source in sources.items() if (why := source.profile.closed)}
    problems = [*map(str, loaded.problems)]
    problems += [f"{pair.place}: {closed[pair.db_id]}" for pair in loaded.pairs if pair.db_id in closed]
    if closed and sources.keys() <= closed.keys():
        raise ConfigError(_some(problems))
    names = _names_of(loaded.pairs)
    rows = [
        plain_row(
            example_id=name,
            db_id=pair.db_id,
            question=pair.question,
            evidence=pair.evidence or None,
            sql=pair.sql,
            alternatives=pair.alternatives,
            place=pair.place,
        )
        for name, pair in zip(names, loaded.pairs, strict=True)
        if pair.db_id not in closed
    ]
    faults = [(db_id, said) for db_id, one in sources.items() if db_id not in closed for said in one.profile.faults]
    notes = (*loaded.notes, *(f"{db_id}: {said}" for db_id, said in faults))
    return Questions(path.name, tuple(rows), sources, databases, problems=tuple(problems), notes=notes)


def _some(told: Sequence[str]) -> str:
    """The first faults of a file, and how many more there are."""
    return "\n".join([*told[:TOLD], *([f"and {len(told) - TOLD:,} more"] if len(told) > TOLD else [])])


def _unknown(name: str, why: str, databases: Path, pairs: Sequence[Pair]) -> str:
    """Which rows ask about a database that is not there."""
    places = [pair.place for pair in pairs if pair.db_id == name]
    more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
    return f"{places[0]}{more}: no database {name!r} in {databases}: {why}"


def _names_of(pairs: Sequence[Pair]) -> list[str]:
    """An id for each pair: its own id if it is unique, else a hash of its content. Other rows before it do not change
    the id.
    """
    often = Counter(pair.identity for pair in pairs)
    said: Counter[tuple[str, ...]] = Counter()
    names: list[str] = []
    for pair in pairs:
        key = pair.identity, pair.db_id, pair.question, pair.evidence, pair.sql
        own = pair.identity if pair.identity and often[pair.identity] == 1 else ""
        names.append(own or stable_hash([*key, said[key]])[:16])
        said[key] += 1
    return names


def one_question(question: str, database: Database, cache: Path, evidence: str | None = None) -> Questions:
    """A person's question about a database, with notes on tables that cannot be read."""
    source = open_source(database, cache / "profiles")
    row = plain_row(
        example_id=stable_hash([database.content_hash, question, evidence])[:16],
        db_id=database.db_id,
        question=question,
        evidence=evidence,
        place="question",
    )
    return Questions("question", (row,), {database.db_id: source}, database.path, notes=source.profile.faults)
