"""Frames for set operations, pairs of rows, the best of each group, and figures beside each row."""

from __future__ import annotations

from dataclasses import replace

from agro_data.intent.questions.clauses.bands import banded, banded_column
from agro_data.intent.questions.clauses.functions import TAKEN
from agro_data.intent.questions.clauses.order import extreme, extreme_word, sort_key, superlative_adjective
from agro_data.intent.questions.clauses.phrases import quantity, subject, term
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.frames.columns import Described, answer, joined, led
from agro_data.intent.questions.habits import BUT_NOT, NONE_OF
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Arithmetic, Case, Column, Expression, Query, SetOperation, Window
from agro_data.profiling.profile import DatabaseProfile


def set_operation(operation: SetOperation, profile: DatabaseProfile, voice: Voice) -> Content:
    """Values that occur under both conditions, under either, or under one and not the other."""
    if operation.operator != "union_all":  # no row comes twice
        both = replace(operation.left, distinct=True), replace(operation.right, distinct=True)
        operation = replace(operation, left=both[0], right=both[1])
    # Both sides are worded alike, so that their difference stands out.
    voices = voice, voice.twin()
    sides = zip((operation.left, operation.right), voices, strict=True)
    left, right = (_side(query, profile, side, operation.operator) for query, side in sides)
    if left.passed_over != right.passed_over:
        left, right = Scene(operation.left, profile, voices[0]), Scene(operation.right, profile, voices[1])
    base = left.grain
    shown = operation.left.select[0].expression
    rows = (subject(left, base, True), subject(right, right.grain, True))
    same = [s.table for s in operation.left.sources] == [s.table for s in operation.right.sources]
    if same and isinstance(shown, Column) and (len(operation.left.select) == 1 or _identify(left, operation.left)):
        if left.bearer(shown) == base:
            kind = words.plural(term(left, shown, base))
            if operation.operator == "except" and rows[0] == left.many(base):
                # Every value is one of some row: it is enough to say what it lacks.
                return Content(f"the {_different(operation, voice)}{kind} that {voice.weigh(NONE_OF)} {rows[1]}")
            return Content(f"the {_different(operation, voice)}{kind} {_held(operation, rows, voice)}")
        names = voice.listed([words.plural(term(left, o.expression, shown.source)) for o in operation.left.select])
        owners = left.many(shown.source)
        who = left.who(shown.source)
        held = _held(operation, rows, voice, who, entity=True)
        different = _different(operation, voice) if operation.operator == "union" else ""  # their key is shown
        return Content(f"the {different}{names} of {owners} {held}")
    kinds = voice.listed([words.plural(term(left, o.expression, base)) for o in operation.left.select])
    others = voice.listed([words.plural(term(right, o.expression, right.grain)) for o in operation.right.select])
    first = Described(base, subject(left, base, False), rows[0], "definite")
    a = answer(left, operation.left.select, first).np
    if operation.operator == "intersect":
        return Content(f"the {kinds} that are found among both {rows[0]} and {rows[1]}")
    if operation.operator == "except":
        return Content(
            f"the {_different(operation, voice)}{kinds} of {rows[0]} that are not also {others} of {rows[1]}"
        )
    if operation.operator == "union":
        return Content(
            f"the different {kinds} of {rows[0]} together with the {others} of {rows[1]}", tail="without repeats"
        )
    return Content(f"{a} followed by the {others} of {rows[1]}", tail="keeping repeats")


def _side(query: Query, profile: DatabaseProfile, voice: Voice, operator: str) -> Scene:
    """The scene of one side. What identifies a parent is asked of its rows, as in a condition on them; so is its name,
    where it does not count how often that is met.
    """
    scene = Scene(query, profile, voice)
    shown = query.select[0].expression
    if not isinstance(shown, Column):
        return scene
    once = operator == "union" and len(query.select) == 1 and scene.bearer(shown) != scene.grain
    owner = scene.table(shown.source) if once or _identify(scene, query) else None
    return Scene(query, profile, voice, seen_from=owner)


def _identify(scene: Scene, query: Query) -> bool:
    """Whether what is shown are columns of one parent, its key among them: each row of the answer is one parent."""
    shown = [o.expression for o in query.select if isinstance(o.expression, Column)]
    owners = {c.source for c in shown}
    table = scene.table(shown[0].source) if len(shown) == len(query.select) and len(owners) == 1 else None
    if table is None or scene.grain in owners:
        return False
    return any({c.name for c in shown}.issuperset(key) for key in scene.profile.keys(table.name))


def _different(operation: SetOperation, voice: Voice) -> str:
    """No set operation gives a row twice; people say so seldom, but of a union they must: rows may share a name."""
    said = {"different ": 10, "distinct ": 8}
    return voice.weigh(said if operation.operator == "union" else {**said, "": 82})


def _held(operation: SetOperation, rows: tuple[str, str], voice: Voice, who: str = "that", entity: bool = False) -> str:
    if operation.operator == "intersect":
        forms = (f"{who} have both {rows[0]} and {rows[1]}", f"with both {rows[0]} and {rows[1]}")
        return voice.pick(*forms) if entity else voice.pick(*forms, f"shared by both {rows[0]} and {rows[1]}")
    if operation.operator == "except":
        return f"{who} have {rows[0]} but {voice.weigh(BUT_NOT)} {rows[1]}"
    return voice.pick(f"{who} have {rows[0]} or {rows[1]}", f"{who} have {rows[0]}, {rows[1]}, or both")


def pairs(scene: Scene) -> Content:
    """Two rows of one table that share a value, each pair once."""
    join = next(j for j in scene.query.joins if j.direction == "peer")
    base, voice = scene.query.subject.alias, scene.voice
    shared = scene.voice.listed([scene.phrase(Column(base, left)) for left, _ in join.columns])
    name = scene.phrase(Column(base, join.less)) if join.less else "name"
    many = subject(scene, base, True)
    extra = [o.expression for o in scene.query.select[2:]]
    who = "who have" if scene.is_person(base) else "that have"
    same = voice.pick(f"with the same {shared}", f"{who} the same {shared}", f"sharing the same {shared}")
    text = sort_key(scene, Column(base, join.less or "")) == "text"
    first = "the alphabetically earlier" if text else "the smaller"
    once = voice.pick(f"each pair once with {first} {name} first", f"listing each pair only once, {first} {name} first")
    if extra:
        also = scene.voice.listed([scene.phrase(e) for e in extra if isinstance(e, Column)])
        return Content(f"the {words.plural(name)} of all pairs of {many} {same}, and the {also} they share", tail=once)
    if voice.chance(0.5):
        return Content(
            f"the {words.plural(name)} of {voice.pick('all pairs', 'the pairs')} of {many} {same}", tail=once
        )
    np = f"{voice.pick('all pairs', 'every pair')} of {many} {same}"
    return Content(np, tail=f"giving the {name} of each of the two, {once}")


def best_of_each(scene: Scene) -> Content:
    """The best k rows of each group; rows that tie with the last are kept."""
    query, voice = scene.query, scene.voice
    keep = query.keep
    assert keep is not None
    base, key = scene.grain, keep.order[0]
    columns = [e for e in keep.partition if isinstance(e, Column)]
    parent = columns[0].source if columns and scene.bearer(columns[0]) != base else ""
    group = (
        scene.one(parent)
        if parent
        else scene.voice.listed([words.singular(term(scene, e, base)) for e in keep.partition])
    )
    best = f"the {extreme(scene, key, base, keep.k)}"
    every = subject(scene, base, True)
    narrowed = f"among {every}, " if every != scene.many(base) else ""  # those with the best price of them, not of all
    rows = scene.many(base) if keep.k > 1 else scene.one(base)
    count = f"{keep.k} " if keep.k > 1 else ""
    adjective = superlative_adjective(scene, key, base, term(scene, key.expression, base))
    noun = f"{count}{adjective} {rows}" if adjective and voice.chance(0.6) else f"{count}{rows} with {best}"
    shown = [o.expression for o in query.select]
    heads: list[str] = []
    own: list[str] = []
    for e in shown:
        if isinstance(e, Column) and e.source == parent and parent:
            heads.append(f"{scene.its(parent)} {scene.phrase(e)}")
        elif e not in keep.partition:  # "for each country" names the country
            own.append(_beside_owner(scene, e, base))
    if not own:
        chosen = _chosen(scene, shown, base, group, parent, best, keep.k)
        return replace(chosen, lead=f"{narrowed}{chosen.lead}")
    names = scene.voice.listed([words.plural(n) if keep.k > 1 else n for n in own])
    np = f"the {names} of the {noun}"
    if heads:
        np = f"{scene.voice.listed(heads)} and {np}" if len(heads) == 1 else f"{', '.join(heads)} and {np}"
    tie = voice.pick("including ties", "including any ties", "with ties included") if keep.ties else ""
    if keep.k > 1 and keep.ties:
        tie = voice.pick("including any that tie for the last place", "including ties for the last place")
    return Content(np, lead=f"{narrowed}for {voice.pick('each', 'each', 'every')} {group}", tail=tie)


def _chosen(scene: Scene, shown: list[Expression], base: str, group: str, parent: str, best: str, k: int) -> Content:
    """The frame for answers that say nothing of the best rows themselves, only of their groups."""
    within = f"of {scene.its(base)} {group}" if parent else f"with the same {group}"
    placed = f"is among the {k} with {best}" if k > 1 else f"has {best} among those"
    one = scene.one(base)
    return Content(led(scene, shown, base), lead=f"for each {one} that {placed} {within}", tail="ties included")


def _beside_owner(scene: Scene, expression: Expression, base: str) -> str:
    if isinstance(expression, Column) and scene.bearer(expression) != base:
        return f"{scene.one(scene.bearer(expression))} {scene.phrase(expression)}"
    return quantity(scene, expression, base)


def windowed(scene: Scene) -> Content:
    """A figure beside each row: rank, running total, share, distance from the average, value before."""
    query = scene.query
    base = scene.grain
    many = subject(scene, base, True)
    plain = many == scene.many(base)
    lead = "" if plain else f"among {many}"
    own = [o.expression for o in query.select if not _computes(o.expression)]
    told = [_beside(scene, o.expression, base, not plain) for o in query.select if _computes(o.expression)]
    head = joined(scene, own, base, f"each {scene.one(base)}")
    np = (
        f"{head}, and {scene.voice.listed(told)}"
        if " and " in head or "," in head
        else f"{head} and {scene.voice.listed(told)}"
    )
    tail = ""
    if query.order_by:
        key = query.order_by[0]
        ends = "latest to earliest" if key.descending else "earliest to latest"
        if sort_key(scene, key.expression) not in ("date", "year"):
            ends = "highest to lowest" if key.descending else "lowest to highest"
        tail = f"in order of {term(scene, key.expression, base)} from {ends}"
    return Content(np, lead=lead, tail=tail)


def _computes(expression: Expression) -> bool:
    return isinstance(expression, Window | Arithmetic | Case)


def _beside(scene: Scene, expression: Expression, base: str, narrowed: bool) -> str:
    its, many, voice = scene.its(base), scene.many(base), scene.voice
    if isinstance(expression, Window):
        within = _within(scene, expression, base)
        if expression.function in ("rank", "dense_rank", "row_number"):
            key = expression.order[0]
            by = quantity(scene, key.expression, base)
            first = extreme_word(scene, key.expression, key.descending)
            place = "position" if expression.function == "row_number" else "rank"
            gaps = " (without gaps after ties)" if expression.function == "dense_rank" else ""
            return voice.pick(f"{its} {place} by {by}{within}, with the {first} ranked first{gaps}",
                              f"{its} {place} by {by}{within}{gaps}, the {first} being number 1")  # fmt: skip
        assert expression.argument is not None
        value = term(scene, expression.argument, base)
        along = ""
        if expression.order:
            along = f" by {term(scene, expression.order[0].expression, base)}"
        if expression.function == "lag":
            return f"the {value} of the previous {scene.one(base)}{along}"
        return f"the running total of the {value}{along}{within}"
    if isinstance(expression, Arithmetic):
        window = expression.right
        if isinstance(window, Window) and window.argument is not None:
            value = term(scene, window.argument, base)
            within = _same(scene, window, base)
            make = "make" if words.is_plural(value) else "makes"
            total, mean = (
                ("total", "average") if not f"{value.lower()} ".startswith(TAKEN) else ("sum of the", "average of the")
            )
            everyone = f"all {'these ' if narrowed else ''}{many}{within}"
            if window.function == "sum":
                return f"the percentage of the {total} {value} of {everyone} that {its} {value} {make} up"
            return f"the difference between {its} {value} and the {mean} {value} of {everyone}"
    if isinstance(expression, Case):
        return f"{its} {banded_column(scene, expression, base)} band ({banded(scene, expression)})"
    return f"the {quantity(scene, expression, base)}"


def _within(scene: Scene, window: Window, base: str) -> str:
    if not window.partition:
        return ""
    groups = scene.voice.listed([term(scene, e, base) for e in window.partition])
    return scene.voice.pick(f" within {scene.its(base)} {groups}", f" among those with the same {groups}")


def _same(scene: Scene, window: Window, base: str) -> str:
    if not window.partition:
        return ""
    groups = scene.voice.listed([term(scene, e, base) for e in window.partition])
    return f" with the same {groups}"
