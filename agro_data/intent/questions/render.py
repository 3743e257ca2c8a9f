"""Intent to question."""

from __future__ import annotations

from dataclasses import dataclass

from agro_data.intent.questions.content import Content
from agro_data.intent.questions.frames.groups import grouped
from agro_data.intent.questions.frames.lists import listing
from agro_data.intent.questions.frames.picked import compared_groups
from agro_data.intent.questions.frames.special import best_of_each, pairs, set_operation, windowed
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.questions.styles import ask
from agro_data.intent.questions.voice import Voice
from agro_data.intent.sampling.known_members import without_known
from agro_data.intent.sampling.undeleted import without_marks
from agro_data.intent.sampling.versions import as_said
from agro_data.intent.tree import Case, Intent, Output, Query, SetOperation, Window, walk
from agro_data.profiling.profile import DatabaseProfile


@dataclass(frozen=True)
class Question:
    """A question in English. `evidence` holds definitions that it needs and does not say, or None."""

    text: str
    style: str
    evidence: str | None


def render_question(intent: Intent, profile: DatabaseProfile, style: str, seed: int) -> Question:
    """`intent` asked in English in one of `STYLES`.

    Equal arguments give the equal text; another `seed` gives other wording of the same meaning. Raises `ValueError`
    on an unknown style and `KeyError` when the tree names a table, column or metric that the profile lacks.
    """
    voice = Voice(style, intent.db_id, intent.seed, seed)
    query, of_deleted = without_marks(intent.query, profile)
    query, of_unknown = without_known(query, profile)
    for definition in (*of_deleted, *of_unknown):
        voice.note(definition)
    text = ask(content_of(*as_said(query, profile), voice), style, voice)
    return Question(" ".join(text.split(" ")), style, voice.evidence)


def content_of(query: Query | SetOperation, profile: DatabaseProfile, voice: Voice) -> Content:
    """What the query answers, in the frame that fits its form."""
    if isinstance(query, SetOperation):
        return set_operation(query, profile, voice)
    scene = Scene(query, profile, voice)
    if query.ctes:
        return compared_groups(scene)
    if query.keep is not None:
        return best_of_each(scene)
    if any(j.direction == "peer" for j in query.joins):
        return pairs(scene)
    if query.group_by:
        return grouped(scene)
    if _beside_rows(query.select):
        return windowed(scene)
    return listing(scene)


def _beside_rows(select: tuple[Output, ...]) -> bool:
    return any(isinstance(n, Window | Case) for n in walk(select))
