"""A database as questions about it are put: what whoever answers is shown of it, in training as in an export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agro_data.databases.types import Database
from agro_data.profiling.cache import cached_profile, cached_texts
from agro_data.profiling.hidden.concealing import texts_without, without
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialising.linking import SchemaIndex, index_schema
from agro_data.profiling.serialising.said_values import said_values
from agro_data.profiling.serialising.serialise import Style, estimate_tokens, fit_schema
from agro_data.profiling.serialising.texts import Texts
from agro_data.protocol import MAX_TURNS, render_prompt
from agro_data.sql.concealing import Hidden


@dataclass(frozen=True)
class Source:
    """A database that is asked about, with its profile, what its columns hold beside the common values, and the index
    of both."""

    database: Database
    profile: DatabaseProfile
    index: SchemaIndex
    texts: Texts = field(default_factory=dict)

    @classmethod
    def of(cls, database: Database, profile: DatabaseProfile, texts: Texts) -> Source:
        """A database as its profile shows it, with the `texts` of its columns."""
        return cls(database, profile, index_schema(profile, texts), texts)

    def without(self, hidden: tuple[Hidden, ...]) -> Source:
        """The same with what is `hidden` left out."""
        if not hidden:
            return self
        return Source.of(self.database, without(self.profile, hidden), texts_without(self.texts, hidden))


def open_source(database: Database, profiles: Path, *, values: bool = True) -> Source:
    """`database` with its profile and texts, kept in the folder `profiles`; without its `values` if so said. Raises as
    `cached_profile` does."""
    profile = cached_profile(database, profiles, values=values)
    return Source.of(database, profile, cached_texts(database, profile, profiles) if values else {})


def prompt_of(
    row: Mapping[str, Any],
    shown: Source,
    *,
    style: Style,
    budget: int,
    count_tokens: Callable[[str], int] = estimate_tokens,
    max_turns: int = MAX_TURNS,
    clarify: bool = False,
    direct: bool = False,
) -> str:
    """The prompt for the `question` and `evidence` of a row, about what is `shown`, as `render_prompt` writes it.

    Raises `ValueError` when `budget` has no room for any table.
    """
    links = shown.index.link(row["question"], row["evidence"])
    schema = fit_schema(shown.profile, style=style, budget=budget, links=links, count_tokens=count_tokens)
    return render_prompt(
        schema.text,
        row["question"],
        shown.database.dialect,
        evidence=row["evidence"],
        said=said_values(links, schema.columns),
        max_turns=max_turns,
        clarify=clarify,
        direct=direct,
    )
