"""Frames for answers with one row for each group: a category, a related parent, a period, a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agro_data.intent.questions import words
from agro_data.intent.questions.bands import banded, banded_column
from agro_data.intent.questions.columns import listed_names
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.grouping import Group, figure_first, group_of
from agro_data.intent.questions.habits import (
    ALONG,
    DIFFERENT,
    EACH,
    FIGURE_FIRST,
    GROUP_FIRST,
    NAMING,
    OF_ENTITY,
)
from agro_data.intent.questions.nouns import Scene
from agro_data.intent.questions.order import order_clause
from agro_data.intent.questions.phrases import subject, term
from agro_data.intent.questions.picked import best_group, having
from agro_data.intent.questions.totals import figures, percentage, short_figures
from agro_data.intent.questions.vocabulary import CONTAINERS
from agro_data.intent.tree import (
    Aggregate,
    Case,
    Column,
    DatePart,
    Expression,
    Share,
    TextFunction,
)

REPEATED = 3  # words: a longer name of a group is not said twice


def grouped(scene: Scene) -> Content:
    """Figures for each group."""
    query = scene.query
    if any(isinstance(k, Case) for k in query.group_by):
        return _bands(scene)
    if query.limit is not None and query.order_by:
        return best_group(scene)
    if query.having is not None:
        return having(scene)
    group = group_of(scene)
    shown = [o.expression for o in query.select if o.expression in query.group_by]
    asked = [o.expression for o in query.select if o.expression not in query.group_by]
    tail = order_clause(scene, query.order_by, scene.grain)
    left = any(j.kind == "left" for j in query.joins)
    if left and group.entity:
        without = scene.voice.pick(f"including {scene.many(group.entity)} without any {group.row_noun}",
                                   f"including those without any {group.row_noun}",
                                   f"with 0 for {scene.many(group.entity)} that have none")  # fmt: skip
        tail = f"{without}, {tail}" if tail else without
    narrowed = "" if left or group.rows == group.row_noun or not _columns(query.group_by) else group.rows
    if narrowed:
        # Groups without such a row are no part of the answer: the question starts from the rows.
        group = replace(group, rows=group.row_noun)
    every = left or bool(narrowed)
    if query.joins and not every:
        # An inner join leaves out those without any: on some instance there are such, even where the source has none.
        group = group_of(scene, some=True)
    if group.entity:
        said = _entity(scene, group, shown, asked, tail, every)
    else:
        said = _category(scene, group, shown, asked, tail, bool(narrowed))
    if not narrowed:
        return said
    return replace(said, lead=", ".join(part for part in (f"among {narrowed}", said.lead) if part))


def _columns(keys: Sequence[Expression]) -> bool:
    return all(isinstance(key, Column | DatePart | TextFunction) for key in keys)


def _entity(
    scene: Scene, group: Group, shown: Sequence[Expression], asked: Sequence[Expression], tail: str, every: bool
) -> Content:
    voice = scene.voice
    names = [term(scene, e, group.entity) for e in shown]
    person = words.is_person(scene.one(group.entity))
    they = "they have" if person else "it has"
    first = asked[0] if asked else None
    counts = isinstance(first, Aggregate) and first.function == "count" and not first.distinct and len(asked) == 1
    one = group.one
    relation = scene.relation_of(group.entity)
    if counts and relation:
        f = f"the number of {group.rows} {relation} {'them' if person else 'it'}"
    elif counts:
        its = scene.its(group.entity)
        have = group.rows == group.row_noun and voice.chance(0.6)
        f = f"the number of {group.rows} {they}" if have else f"the number of {its} {group.rows}"
    else:
        f = figures(scene, asked, f"{scene.its(group.entity)} {group.rows}")
    f = _share_text(scene, asked, group) or f
    np = f"the {listed_names(voice, names)} of each {one} and {f}"
    ask = then = ""
    if counts and group.rows == group.row_noun and every:
        ask = f"how many {group.rows} {f'are {relation} each {one}' if relation else f'does each {one} have'}"
        if not relation and _holds(scene.one(group.entity)) and voice.chance(0.6):
            ask = f"how many {group.rows} are there in each {one}"
        told = ["number", *names] if figure_first(scene) else [*names, "number"]
        then = f"{voice.weigh(NAMING)} the {voice.listed(told)}."
    form = voice.weigh(OF_ENTITY)
    if figure_first(scene):
        own = _share_text(scene, asked, group) or figures(scene, asked, group.rows)
        rest = f"{scene.its(group.entity)} {listed_names(voice, names)}"
        if form == "lead":
            return Content(f"{f} and {rest}", lead=f"for {voice.weigh(EACH)} {one}", tail=tail)
        where = "in" if counts and _holds(scene.one(group.entity)) else "for"
        return Content(f"{own} {where} each {one} and {rest}", tail=tail, ask=ask, then=then)
    if form == "lead":
        led = f"the {listed_names(voice, names)} and {f}" if len(names) == 1 else f"the {', '.join(names)} and {f}"
        return Content(led, lead=f"for {voice.weigh(EACH)} {one}", tail=tail)
    if form == "plural" and counts and not relation:
        several = listed_names(voice, [words.plural(n) for n in names])
        each_has = voice.pick("each of them has", "each one has", "each has")
        counted = voice.pick("the number of", "how many")
        count = f"{counted} {group.rows} {each_has}"
        rest = group.many if group.many != scene.many(group.entity) else voice.pick("all ", "the ", "") + group.many
        return Content(f"the {several} of {rest} and {count}", tail=tail, ask=ask, then=then)
    return Content(np, tail=tail, ask=ask, then=then)


def _category(
    scene: Scene, group: Group, shown: Sequence[Expression], asked: Sequence[Expression], tail: str, narrowed: bool
) -> Content:
    voice = scene.voice
    told = short_figures(scene, asked, group.row_noun) if narrowed else figures(scene, asked, group.rows)
    f = _share_text(scene, asked, group) or told
    each = voice.weigh(EACH)
    if not shown:
        return Content(f"{f} for {each} {group.one}", tail=tail)
    ask = ""
    first = asked[0]
    first_counts = isinstance(first, Aggregate) and first.function == "count" and not first.distinct
    if len(asked) == 1 and first_counts and isinstance(first, Aggregate) and first.where is None:
        ask = f"how many {group.rows} are there" if group.rows == group.row_noun else ""
    plain = group.rows == group.row_noun
    paired = any(isinstance(k, DatePart) and k.part == "year_month" for k in scene.query.group_by)
    # What is named first stands first in the answer, so that two answers with other columns first differ in words.
    if not figure_first(scene):
        simple = isinstance(first, Aggregate) and first.where is None and not paired
        form = voice.weigh(GROUP_FIRST) if simple else "lead"
        if form == "lead":
            return Content(f, lead=f"for {each} {group.one}", tail=tail, ask=ask)
        kinds = f"{voice.weigh(DIFFERENT)} {group.many}" if form == "different" else group.many
        if form != "each with" or len(group.one.split(" ")) > REPEATED:
            return Content(f"the {kinds} and {f} for each", tail=tail)
        where = "for"
        if plain and first_counts and len(asked) == 1:
            where = "in" if _holds(group.one) else voice.pick("with", "for", "for")
        opening = voice.pick(f"the {kinds}", f"the {kinds}", f"all {kinds}")
        return Content(f"{opening} {voice.weigh(ALONG)} {f} {where} each {group.one}", tail=tail)
    only_count = plain and first_counts and len(asked) == 1
    fits = {
        "in": only_count and _holds(group.one),
        "with": only_count and not _holds(group.one),
        "per": plain,
        "different": plain and not paired,
    }
    form = voice.weigh(FIGURE_FIRST)
    form = form if fits.get(form, True) else "for"
    if form == "different":
        return Content(f"{f} for different {group.many}", tail=tail)
    if len(asked) > 1:
        both = "both" if len(asked) == 2 else "all"
        return Content(f"{f}, {both} for {each} {group.one}", tail=tail)
    if form == "in":
        asks = f"how many {group.rows} are there in {each} {group.one}"
        return Content(f"{f} in {each} {group.one}", tail=tail, ask=asks)
    if form == "with":
        return Content(f"{f} with each {group.one}", tail=tail, ask=f"how many {group.rows} have each {group.one}")
    if form == "per":
        return Content(f"{f} per {group.one}", tail=tail)
    ask = f"{ask} for {each} {group.one}" if ask else ""
    return Content(f"{f} for {each} {group.one}", tail=tail, ask=ask)


def _holds(noun: str) -> bool:
    """Whether rows are said to be in such a group."""
    return words.last_word(noun).lower() in CONTAINERS


def _share_text(scene: Scene, asked: Sequence[Expression], group: Group) -> str:
    if len(asked) == 1 and isinstance(asked[0], Share):
        rows = f"{scene.its(group.entity)} {group.rows}" if group.entity else group.rows
        return percentage(scene, asked[0], rows).np
    return ""


def _bands(scene: Scene) -> Content:
    query = scene.query
    case = next(k for k in query.group_by if isinstance(k, Case))
    rows = subject(scene, scene.grain, True)
    asked = [o.expression for o in query.select if not isinstance(o.expression, Case)]
    f = figures(scene, asked, rows)
    column, bands = banded_column(scene, case, scene.grain), banded(scene, case)
    form = scene.voice.pick(f"{f} in each {column} band", f"{f} for each band of {column}")
    return Content(form, tail=f"where the bands are {bands}")
