"""Tasks of a corpus version: the prompt of each example, and the gold with which its answers are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agro_data.databases.types import Database
from agro_data.errors import InWords
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialising.asked import Source, open_source, prompt_of
from agro_data.profiling.serialising.serialise import Style, check_serialiser, estimate_tokens, serialiser
from agro_data.protocol import MAX_TURNS
from agro_data.publish.publication.checks import sources_of
from agro_data.publish.read import Version
from agro_data.sql.concealing import Hidden
from agro_data.sql.names.scope import Schema
from agro_train.clarifying import Points, points_of
from agro_train.programs.usual import COMPACT, PROMPT_BUDGET


class NoTask(InWords, LookupError):
    """A corpus version whose examples cannot be worked on here; the message says what is missing."""


@dataclass(frozen=True)
class PromptFormat:
    """How prompts are written for a model: the schema in `style`, within `budget` tokens as `count_tokens` counts."""

    style: Style = COMPACT
    budget: int = PROMPT_BUDGET
    count_tokens: Callable[[str], int] = estimate_tokens
    turns: int = MAX_TURNS
    clarify: bool = False  # is told that it may ask back
    direct: bool = False  # is asked for a query at once


PROMPT_FORMAT = PromptFormat()


@dataclass(frozen=True)
class Reading:
    """One of the meanings of a question that has several, with the instances that its SQL is certified on."""

    sql: str
    instances: tuple[Database, ...] = ()


@dataclass(frozen=True)
class Task:
    """One question. The agent looks at `database`; its answer must be right there and on all `instances`.

    Where it is not `answerable`, something of the database is hidden from the agent, or the question has `readings`.
    """

    example_id: str
    prompt: str
    question: str
    gold: str
    database: Database
    instances: tuple[Database, ...] = ()
    ordered: bool | None = None
    alternatives: tuple[str, ...] = ()
    schema: Schema = field(default_factory=dict, compare=False)  # as it is shown
    profile: DatabaseProfile | None = field(default=None, compare=False, repr=False)  # likewise
    evidence: str = field(default="", compare=False)
    answerable: bool = True
    hidden: tuple[Hidden, ...] = ()
    whole: Schema = field(default_factory=dict, compare=False)  # with what is hidden
    readings: tuple[Reading, ...] = ()
    clarification: str = ""
    points: Points = ()  # what a clarification must name
    direct: bool = False  # the prompt asks for a query at once
    db_id: str = field(default="", compare=False)  # as the question's row spells it; "": as the database is called

    @property
    def databases(self) -> tuple[Database, ...]:
        return (self.database, *self.instances)

    def graded_on(self, share: float) -> Task:
        """The same task, right on the database and the first `share` of its instances is right."""
        readings = tuple(replace(one, instances=_first(one.instances, share)) for one in self.readings)
        return replace(self, instances=_first(self.instances, share), readings=readings)


def _first(instances: tuple[Database, ...], share: float) -> tuple[Database, ...]:
    return instances[: math.ceil(share * len(instances))]


def find_sources(
    version: Version, databases: Path, cache: Path, only: Iterable[str] | None = None
) -> dict[str, Source]:
    """The databases of a version, by id, wherever they lie below `databases`; all, or `only` those.

    Raises `NoTask` when one is not there or holds something else than when the version was made, and for a version that
    was made without values, which models would be shown; `SerialiserMismatch` when the version was made for schemas
    written otherwise.
    """
    if version.private:
        raise NoTask(
            f"{version.corpus} {version.name} was made with --values synthetic, on databases that no version keeps: on "
            "the sources its SQL answers nothing, and models would be shown their values. Take a version that was made "
            "with --values source"
        )
    stored = version.manifest.get("schema_serialiser", serialiser())
    check_serialiser(stored, where=f"{version.corpus} {version.name}")
    names = sorted({fact["db_id"] for fact in version.manifest["databases"]} if only is None else set(only))
    there = {database.db_id: database for database in sources_of(version, databases)}
    sources: dict[str, Source] = {}
    for name in names:
        found = there.get(name)
        if found is None:
            raise NoTask(
                f"{version.corpus} {version.name}: database {name} as it was when the corpus was made is not below "
                f"{databases}; give the folder that the corpus was built from, unchanged"
            )
        sources[name] = open_source(found, cache)
    return sources


def make_task(
    row: Mapping[str, Any], source: Source, instances: Path, prompt_format: PromptFormat = PROMPT_FORMAT
) -> Task:
    """The task of one row of `records.EXAMPLE`. `instances` is the version's folder of that name.

    Raises `ValueError` when the budget has no room for any table.
    """
    hidden = tuple(map(Hidden.of, row["hidden"]))
    shown = source.without(hidden)

    def files(names: Iterable[str]) -> tuple[Database, ...]:
        return tuple(_instance(name, source.database, instances) for name in names)

    return Task(
        example_id=row["example_id"],
        prompt=prompt_of(
            row,
            shown,
            style=prompt_format.style,
            budget=prompt_format.budget,
            count_tokens=prompt_format.count_tokens,
            max_turns=prompt_format.turns,
            clarify=prompt_format.clarify,
            direct=prompt_format.direct,
        ),
        question=row["question"],
        gold=row["sql"],
        database=source.database,
        instances=files(row["instances"]),
        ordered=row["order_matters"],
        alternatives=tuple(row["alternatives"]),
        schema=shown.profile.schema,
        profile=shown.profile,
        evidence=row["evidence"] or "",
        answerable=row["answerable"],
        hidden=hidden,
        whole=source.profile.schema,
        readings=tuple(Reading(one["sql"], files(one["instances"])) for one in row["readings"]),
        clarification=row["clarification"] or "",
        points=points_of(row, source.profile),
        direct=prompt_format.direct,
        db_id=row["db_id"],
    )


def _instance(name: str, source: Database, folder: Path) -> Database:
    """`name` is "<db_id>/<file>"; a version's files never change, so that path and name tell the content."""
    path = folder / name
    if not path.is_file():
        raise NoTask(f"{path}: this instance is named by an example and is not there; copy the version whole")
    return Database(source.db_id, source.dialect, source.dialect, path, str(path), name)
