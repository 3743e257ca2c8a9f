"""An endless stream of distinct intents over one database, steered by a prior and a coverage floor."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace
from random import Random

from agro_data.intent.rename import rename_sources
from agro_data.intent.rendering.renderings import renderings
from agro_data.intent.sampling.atlas import Atlas, has_blanks, is_kept_of_row
from agro_data.intent.sampling.choose import fixed, repeats
from agro_data.intent.sampling.filters import conditions
from agro_data.intent.sampling.known_members import held_to_known
from agro_data.intent.sampling.one_unit import in_one_unit
from agro_data.intent.sampling.plausibility import plausibility
from agro_data.intent.sampling.prior import Prior, default_prior
from agro_data.intent.sampling.scene import Draft, Scene
from agro_data.intent.sampling.undeleted import held_to_undeleted
from agro_data.intent.sampling.versions import held_to_current
from agro_data.intent.shapes import GENERATORS
from agro_data.intent.shapes.lists import known
from agro_data.intent.tree import (
    Column,
    Intent,
    Output,
    Query,
    SetOperation,
    Shape,
    Source,
    conjunction,
    conjuncts,
    walk,
)
from agro_data.profiling.profile import DatabaseProfile

PATIENCE = 600  # draws without a new intent after which a database has given all it holds
TRIES = 5  # drafts of one shape before another is drawn
LEAST_PLAUSIBLE = 0.35
LEAST_FOR_COVERAGE = 0.1  # what alone serves a column that nobody asks for may be less likely
ENOUGH = 2  # uses of each column after which coverage asks for fewer draws
_SELDOM = ("identifier", "free_text", "other")

# What a column of a role is good for when its turn comes.
_USES: dict[str, tuple[Shape, ...]] = {
    "identifier": ("list", "list", "count"),
    "category": ("list", "group", "count", "superlative_group", "having", "set_operation", "share", "buckets"),
    "measure": ("aggregate", "superlative", "list", "compare_average", "extreme", "group", "arithmetic", "buckets",
                "top_per_group", "window", "set_operation"),
    "year": ("list", "aggregate", "superlative", "count", "group", "extreme", "set_operation"),
    "date": ("list", "date_group", "superlative", "count", "extreme"),
    "boolean": ("list", "count", "group", "share"),
    "text": ("list", "list", "count", "text_function", "related_none", "related_exists", "extreme", "superlative"),
    "free_text": ("list", "list", "count"),
    "other": ("list",),
}  # fmt: skip


def sample_intents(
    profile: DatabaseProfile, seed: int, prior: Prior | None = None, coverage: float | None = None
) -> Iterator[Intent]:
    """Distinct intents over the database of `profile`, the same for the same arguments.

    Distinct means: no two have equal trees. `prior` defaults to the shipped one with the shape weights of
    `semantics.yml`; `coverage` is the share of draws, in [0, 1], that must use the column used least so far
    (default: the prior's). The stream ends when `PATIENCE` draws in a row gave nothing new, so a small database
    gives few. Intents below `LEAST_PLAUSIBLE` are left out, those that serve coverage below `LEAST_FOR_COVERAGE`.
    """
    atlas = Atlas(profile)
    if not atlas.tables:
        return
    chosen = prior if prior is not None else default_prior().for_profile(profile)
    floor = chosen.coverage if coverage is None else coverage
    shapes = [s for s in GENERATORS if chosen.shapes.get(s, 0) > 0]
    weights = [chosen.shapes[s] for s in shapes]
    rng = Random(int.from_bytes(hashlib.sha256(f"{profile.content_hash}\0{seed}".encode()).digest()[:8], "big"))
    uses: Counter[tuple[str, str]] = Counter()
    seen: set[Query | SetOperation] = set()
    idle = number = 0
    enough = False
    while idle < PATIENCE:
        number += 1
        idle += 1
        target = _least_used(atlas, uses, chosen, rng) if rng.random() < floor * (0.3 if enough else 1) else None
        enough = enough or (target is not None and uses[target] >= ENOUGH)
        shape = _shape_for(atlas, target, chosen, rng) if target else rng.choices(shapes, weights)[0]
        draft = _draft(atlas, chosen, rng, shape, target, seen)
        if target and (draft is None or target not in touched(draft.query)):
            scene = Scene(atlas, chosen, rng, target)
            shape, draft = "list", settled(scene, plain_list(scene))
        if target:
            # Asked for even when nothing came of it, so that one hopeless column does not hold the floor.
            uses[target] += 1
        if draft is None:
            continue
        query = canonical(draft.query)
        meant = identity(draft.query)
        if meant in seen:
            continue
        score = plausibility(query, profile)
        if score < (LEAST_FOR_COVERAGE if target else LEAST_PLAUSIBLE):
            continue
        seen.add(meant)
        uses.update(touched(query))
        idle = 0
        own = int.from_bytes(hashlib.sha256(f"{seed}\0{number}".encode()).digest()[:6], "big")
        options = renderings(query, profile)
        yield Intent(profile.db_id, shape, query, own, draft.tie_policy, score, options[own % len(options)])


def _draft(
    atlas: Atlas,
    prior: Prior,
    rng: Random,
    shape: Shape,
    target: tuple[str, str] | None,
    seen: Set[Query | SetOperation],
) -> Draft | None:
    """A new draft of `shape`, or None: tried a few times, so that what is easy to make does not crowd out the rest."""
    for _ in range(TRIES):
        scene = Scene(atlas, prior, rng, target)
        draft = settled(scene, GENERATORS[shape](scene))
        if draft is not None and identity(draft.query) not in seen:
            return draft
    return None


def settled(scene: Scene, draft: Draft | None) -> Draft | None:
    """The draft, asked of rows that belong together: of one unit, and of those that are current, not deleted, and
    stand for a thing.
    """
    draft, profile = in_one_unit(scene, draft), scene.atlas.profile
    query = None if draft is None else held_to_undeleted(held_to_current(draft.query, profile), profile)
    query = None if query is None else held_to_known(query, profile)
    return None if draft is None or query is None else replace(draft, query=query)


def _least_used(atlas: Atlas, uses: Counter[tuple[str, str]], prior: Prior, rng: Random) -> tuple[str, str]:
    """The column that is furthest behind its share; people ask for codes and long texts less."""

    def behind(target: tuple[str, str]) -> float:
        column = atlas.by_name[target[0]].column(target[1])
        seldom = 12 if is_kept_of_row(column) else 4 if column.role in _SELDOM else 1
        seldom *= 4 if target in atlas.named_references else 1  # the name of what it refers to is asked for instead
        return (uses[target] + is_kept_of_row(column)) * seldom / prior.columns.get(".".join(target), 1.0)

    least = min(behind(t) for t in atlas.targets)
    return rng.choice([t for t in atlas.targets if behind(t) == least])


def _shape_for(atlas: Atlas, target: tuple[str, str], prior: Prior, rng: Random) -> Shape:
    """A shape that suits the column's role; one that the prior rules out is not asked for coverage either."""
    uses = _USES[atlas.by_name[target[0]].column(target[1]).role]
    return rng.choice([shape for shape in uses if prior.shapes.get(shape, 0) > 0] or ["list"])


def plain_list(scene: Scene) -> Draft | None:
    """The target column shown, beside the row's name, perhaps under a condition."""
    if scene.target is None:
        return None
    atlas, (table, name) = scene.atlas, scene.target
    frame = scene.frame(table)
    target = Column(frame.root, name)
    where = conjunction(conditions(frame, 1, [frame.root], [target])) if scene.chance(0.7) else None
    own = [Column(frame.root, c.name) for c in atlas.labels(table)[:1]]
    again = repeats(frame, list(dict.fromkeys([*own, target])), where)
    alone = again or (frame.profile(target).role not in _SELDOM and scene.chance(0.5))
    labels = [] if alone else [c for c in frame.labels(frame.root) if c != target and c not in fixed(where)][:1]
    lacking = not frame.never_null(target)
    alike = lacking or not frame.profile(target).unique
    distinct = not labels and alike and (again or repeats(frame, [target], where) or scene.chance(0.5))
    if distinct and (has_blanks(frame.profile(target)) or frame.profile(target).role == "boolean"):
        return None  # among different values a blank is none; of a flag there are two
    if distinct and lacking:
        tests = conjuncts(where)
        where = conjunction([*tests, *known(tests, target)])
    return Draft(frame.query(select=tuple(Output(c) for c in (*labels, target)), where=where, distinct=distinct))


def touched(query: Query | SetOperation) -> set[tuple[str, str]]:
    """The (table, column) pairs that `query` names, joins apart."""
    tables = {n.alias: n.table for n in walk(query) if isinstance(n, Source)}
    return {(tables[n.source], n.name) for n in walk(query) if isinstance(n, Column)}


def identity(query: Query | SetOperation) -> Query | SetOperation:
    """What is equal for queries that differ in aliases, or in the order in which they join, alone."""
    if isinstance(query, SetOperation):
        return canonical(replace(query, left=_joined_by_name(query.left), right=_joined_by_name(query.right)))
    return canonical(_joined_by_name(query))


def _joined_by_name(query: Query) -> Query:
    """The same with what is joined in the order of its names; a LEFT JOIN keeps the place that it has."""
    tables = {source.alias: source.table for source in query.sources}
    if (
        len(query.joins) < 2
        or len(query.sources) != len(query.joins) + 1
        or any(j.kind != "inner" for j in query.joins)
    ):
        return query
    reached, joins, left = {query.subject.alias}, [], list(query.joins)
    while left:
        near = [join for join in left if join.left in reached and join.right not in reached]
        if not near:
            return query
        joins.append(min(near, key=lambda join: (tables[join.right], join.columns)))
        left.remove(joins[-1])
        reached.add(joins[-1].right)
    by_alias = {source.alias: source for source in query.sources}
    return replace(query, sources=(query.subject, *(by_alias[join.right] for join in joins)), joins=tuple(joins))


def canonical(query: Query | SetOperation) -> Query | SetOperation:
    """The same tree with aliases t1, t2, ... in the order of its sources, so that equal meanings are equal trees."""
    names = {n.alias: f"t{i}" for i, n in enumerate((n for n in walk(query) if isinstance(n, Source)), 1)}
    if all(a == b for a, b in names.items()):
        return query
    if isinstance(query, SetOperation):
        return replace(query, left=rename_sources(query.left, names), right=rename_sources(query.right, names))
    return rename_sources(query, names)
