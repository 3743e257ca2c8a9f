"""What the rows of a query are grouped by, in words."""

from __future__ import annotations

from dataclasses import dataclass

from agro_data.intent.questions.clauses.modifiers import Atom, combine
from agro_data.intent.questions.clauses.phrases import subject, term
from agro_data.intent.questions.frames.lists import implied
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene, compounded
from agro_data.intent.tree import Column, DatePart, Expression, Predicate

_BARE = ("name", "title", "id", "code")


@dataclass(frozen=True)
class Group:
    """One group in words. `entity` is the alias of the parent that each group is, or "" for a category.

    `one`/`many` name the group with its conditions; `rows` the rows in it with theirs, but for `drop`,
    which goes without saying.
    """

    entity: str
    one: str
    many: str
    rows: str
    row_noun: str
    drop: tuple[Predicate, ...] = ()


def group_of(scene: Scene, some: bool = False) -> Group:
    """What the rows of the query are grouped by.

    With `some` a group beyond the rows, a parent of theirs or a category of it, is said to have at least one of them.
    """
    query = scene.query
    keys = query.group_by
    picked = query.having is not None or query.limit is not None or any(isinstance(k, DatePart) for k in keys)
    drop = implied(query, keys) if picked else ()  # a list of all groups would have what is unknown as another
    base = scene.grain
    columns = [k for k in keys if isinstance(k, Column)]
    entity = ""
    alike = len({c.source for c in columns}) == 1 and len(columns) == len(keys)
    if alike and scene.bearer(columns[0]) != base:
        table = scene.table(columns[0].source)
        named = {c.name for c in columns}
        if table is not None and (
            (table.primary_key and named.issuperset(table.primary_key)) or any(table.column(n).unique for n in named)
        ):
            entity = columns[0].source
    noun = scene.many(base)
    beyond = some and any(scene.bearer(c) != base for c in columns)
    also = (Atom(have=f"at least one {scene.one(base)}"),) if beyond else ()
    if entity:
        skip = {s.alias for s in query.sources if s.alias != entity and s.alias not in _above(scene, entity)}
        one = subject(scene, entity, False, skip=skip, drop=drop, also=also)
        many = subject(scene, entity, True, skip=skip, drop=drop, also=also)
        return Group(entity, one, many, subject(scene, base, True, skip={entity}, drop=drop), noun, drop)
    names = [_key(scene, k, base) for k in keys]
    one = words.singular(names[0]) if len(names) == 1 else f"combination of {scene.voice.listed(names)}"
    many = words.plural(names[0]) if len(names) == 1 else f"combinations of {scene.voice.listed(names)}"
    if also:
        one, many = (f"{one} {combine(also, 'that', False, scene.voice)}",
                     f"{many} {combine(also, 'that', True, scene.voice)}")  # fmt: skip
    return Group("", one, many, subject(scene, base, True, drop=drop), noun, drop)


def _key(scene: Scene, key: Expression, base: str) -> str:
    """ "country"; "building description", which takes a plural better than "description of the building"."""
    phrase = term(scene, key, base)
    if phrase in _BARE:
        return compounded(scene.one(base), phrase)  # alone it is anything's
    if isinstance(key, Column) and phrase.endswith(f" of the {scene.one(scene.bearer(key))}"):
        short = compounded(scene.one(scene.bearer(key)), scene.phrase(key))
        table = scene.table(base)
        taken = table is not None and any(c.phrase.lower() == short.lower() for c in table.columns)
        return phrase if taken else short
    return phrase


def _above(scene: Scene, alias: str) -> set[str]:
    """Sources reached from `alias` without passing through the grain."""
    reached, frontier = {alias}, [alias]
    while frontier:
        for other, _, _ in scene.neighbours(frontier.pop()):
            if other not in reached and other != scene.grain:
                reached.add(other)
                frontier.append(other)
    return reached


def figure_first(scene: Scene) -> bool:
    """Whether the answer shows the figure before the group it is of."""
    return scene.query.select[0].expression not in scene.query.group_by
