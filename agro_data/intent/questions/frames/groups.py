"""Frames for answers with one row for each group: a category, a related parent, a period, a band."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agro_data.intent.questions.clauses.bands import banded, banded_column
from agro_data.intent.questions.clauses.order import order_clause
from agro_data.intent.questions.clauses.phrases import quantity, subject, term
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.frames.columns import listed_names
from agro_data.intent.questions.frames.grouping import Group, figure_first, group_of
from agro_data.intent.questions.frames.picked import best_group, having
from agro_data.intent.questions.frames.totals import figures, percentage, short_figures, under_condition
from agro_data.intent.questions.habits import (
    ALONG,
    ARE_IN,
    DIFFERENT,
    EACH,
    FIGURE_FIRST,
    FIGURE_NAMED_FIRST,
    GROUP_FIRST,
    HAVE,
    NAMING,
    OF_ENTITY,
)
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
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


@dataclass(frozen=True)
class _Answer:
    """What is answered for each group: what is `shown` of it, and the figures that are `asked` of its rows."""

    scene: Scene
    group: Group
    shown: Sequence[Expression]
    asked: Sequence[Expression]
    tail: str  # the order, and whether groups without rows are meant

    @property
    def counts(self) -> bool:
        """Whether the one figure is how many rows there are."""
        first = self.asked[0] if len(self.asked) == 1 else None
        counts = isinstance(first, Aggregate) and first.function == "count" and not first.distinct
        return counts and not under_condition(self.asked[0])

    @property
    def plain(self) -> bool:
        """Whether no condition is said of the rows."""
        return self.group.rows == self.group.row_noun

    @property
    def by_month(self) -> bool:
        return any(isinstance(key, DatePart) and key.part == "year_month" for key in self.scene.query.group_by)


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
    if any(map(under_condition, asked)):
        # A group none of whose rows meets the condition is in the answer all the same.
        none = scene.voice.pick("with 0 where there are none", "giving 0 where there are none")
        tail = f"{none}, {tail}" if tail else none
    narrowed = "" if left or group.rows == group.row_noun or not _columns(query.group_by) else group.rows
    if narrowed:
        # Groups without such a row are no part of the answer: the question starts from the rows.
        group = replace(group, rows=group.row_noun)
    every = left or bool(narrowed)
    if query.joins and not every:
        # An inner join leaves out those without any: on some instance there are such, even where the source has none.
        group = group_of(scene, some=True)
    answer = _Answer(scene, group, shown, asked, tail)
    said = _entity(answer, every) if group.entity else _category(answer, bool(narrowed))
    if not narrowed:
        return said
    return replace(said, lead=", ".join(part for part in (f"among {narrowed}", said.lead) if part))


def _columns(keys: Sequence[Expression]) -> bool:
    return all(isinstance(key, Column | DatePart | TextFunction) for key in keys)


def _entity(answer: _Answer, every: bool) -> Content:
    """Groups that are rows of a parent: "the name of each club and the number of its players".

    `every`: the answer has those without a row, too.
    """
    scene, group, voice, tail = answer.scene, answer.group, answer.scene.voice, answer.tail
    names = [quantity(scene, e, group.entity) for e in answer.shown]
    figure = _figure_of_entity(answer)
    ask, then = _how_many_each(answer, names) if every else ("", "")
    form = voice.weigh(OF_ENTITY)
    if figure_first(scene):
        own = _share_text(answer) or figures(scene, answer.asked, group.rows)
        rest = f"{scene.its(group.entity)} {listed_names(voice, names)}"
        if form == "lead":
            return Content(f"{figure} and {rest}", lead=f"for {voice.weigh(EACH)} {group.one}", tail=tail)
        where = "in" if answer.counts and words.is_in(group.row_noun, scene.one(group.entity)) else "for"
        return Content(f"{own} {where} each {group.one} and {rest}", tail=tail, ask=ask, then=then)
    if form == "lead":
        told = listed_names(voice, names) if len(names) == 1 else ", ".join(names)
        return Content(f"the {told} and {figure}", lead=f"for {voice.weigh(EACH)} {group.one}", tail=tail)
    if form == "plural" and answer.counts and not scene.relation_of(group.entity):
        several = listed_names(voice, [words.plural(n) for n in names])
        each_has = voice.pick("each of them has", "each one has", "each has")
        counted = voice.pick("the number of", "how many")
        count = f"{counted} {group.rows} {each_has}"
        rest = group.many if group.many != scene.many(group.entity) else voice.pick("all ", "the ", "") + group.many
        return Content(f"the {several} of {rest}{_and(rest)} {count}", tail=tail, ask=ask, then=then)
    np = f"the {listed_names(voice, names)} of each {group.one}{_and(group.one)} {figure}"
    return Content(np, tail=tail, ask=ask, then=then)


def _and(said: str) -> str:
    """ "and", behind a comma where it would go on with a clause: "of each club that has a member, and their number"."""
    return ", and" if re.search(r" (?:that|who|whose|with|for) ", said) else " and"


def _figure_of_entity(answer: _Answer) -> str:
    """The figures of an entity that has been named: "the number of players it has", "the average age of its rooms"."""
    scene, group, voice = answer.scene, answer.group, answer.scene.voice
    its = scene.its(group.entity)
    if not answer.counts:
        told = figures(scene, answer.asked, f"{its} {group.rows}")
        return _share_text(answer) or told
    person, relation = scene.is_person(group.entity), scene.relation_of(group.entity)
    if relation:
        return f"the number of {group.rows} {relation} {'them' if person else 'it'}"
    if answer.plain and voice.chance(HAVE):
        return f"the number of {group.rows} {'they have' if person else 'it has'}"
    return f"the number of {its} {group.rows}"


def _how_many_each(answer: _Answer, names: Sequence[str]) -> tuple[str, str]:
    """A direct question for the number of rows of each entity, and a request for all that is shown; else ("", "")."""
    scene, group, voice = answer.scene, answer.group, answer.scene.voice
    if not (answer.counts and answer.plain):
        return "", ""
    relation = scene.relation_of(group.entity)
    if relation:
        ask = f"how many {group.rows} are {relation} each {group.one}"
    elif words.is_in(group.row_noun, scene.one(group.entity)) and voice.chance(ARE_IN):
        ask = f"how many {group.rows} are there in each {group.one}"
    else:
        ask = f"how many {group.rows} does each {group.one} have"
    told = ["number", *names] if figure_first(scene) else [*names, "number"]
    return ask, f"{voice.weigh(NAMING)} the {voice.listed(told)}."


def _category(answer: _Answer, narrowed: bool) -> Content:
    """Groups that are no rows: "the number of singers for each country". `narrowed`: what their rows meet is said."""
    scene, group = answer.scene, answer.group
    told = short_figures(scene, answer.asked, group.row_noun) if narrowed else figures(scene, answer.asked, group.rows)
    figure = _share_text(answer) or told
    each = scene.voice.weigh(EACH)
    if not answer.shown:
        return Content(f"{figure} for {each} {group.one}", tail=answer.tail)
    # "How many singers are there for each country?" names no columns: the group then stands first, as in any table. Who
    # wants the figure first has to say so, so that two answers with other columns first differ in words.
    if figure_first(scene):
        return _columns_in_order(answer, each)
    if scene.voice.chance(FIGURE_NAMED_FIRST):
        return _figure_before_category(answer, figure, each)
    return _category_before_figure(answer, figure, each)


def _columns_in_order(answer: _Answer, each: str) -> Content:
    """All columns by name: "for each country, the number of singers and the country"."""
    scene, group = answer.scene, answer.group
    shown = [o.expression for o in scene.query.select]
    told = [
        figures(scene, [e], group.rows) if e in answer.asked else f"the {term(scene, e, scene.grain)}" for e in shown
    ]
    ask = _how_many(answer)
    named = ["number" if e in answer.asked else term(scene, e, scene.grain) for e in shown]
    then = f"{scene.voice.weigh(NAMING)} the {scene.voice.listed(named)}." if ask else ""
    return Content(scene.voice.listed(told), lead=f"for {each} {group.one}", tail=answer.tail, ask=ask, then=then)


def _category_before_figure(answer: _Answer, figure: str, each: str) -> Content:
    group, voice, tail = answer.group, answer.scene.voice, answer.tail
    first = answer.asked[0]
    simple = isinstance(first, Aggregate) and first.where is None and not answer.by_month
    form = voice.weigh(GROUP_FIRST) if simple else "lead"
    if form == "lead":
        return Content(figure, lead=f"for {each} {group.one}", tail=tail, ask=_how_many(answer))
    kinds = f"{voice.weigh(DIFFERENT)} {group.many}" if form == "different" else group.many
    if form != "each with" or len(group.one.split(" ")) > REPEATED:
        return Content(f"the {kinds} and {figure} for each", tail=tail)
    where = "for"
    if answer.counts and answer.plain:
        where = "in" if words.is_in(group.row_noun, group.one) else voice.pick("with", "for", "for")
    opening = voice.pick(f"the {kinds}", f"the {kinds}", f"all {kinds}")
    return Content(f"{opening} {voice.weigh(ALONG)} {figure} {where} each {group.one}", tail=tail)


def _figure_before_category(answer: _Answer, figure: str, each: str) -> Content:
    group, voice, tail = answer.group, answer.scene.voice, answer.tail
    counts = answer.counts and answer.plain
    fits = {
        "in": counts and words.is_in(group.row_noun, group.one),
        "with": counts and not words.is_in(group.row_noun, group.one),
        "per": answer.plain,
        "different": answer.plain and not answer.by_month,
    }
    form = voice.weigh(FIGURE_FIRST)
    form = form if fits.get(form, True) else "for"
    if form == "different":
        return Content(f"{figure} for different {group.many}", tail=tail)
    if len(answer.asked) > 1:
        both = "both" if len(answer.asked) == 2 else "all"
        return Content(f"{figure}, {both} for {each} {group.one}", tail=tail)
    if form == "in":
        ask = f"how many {group.rows} are there in {each} {group.one}"
        return Content(f"{figure} in {each} {group.one}", tail=tail, ask=ask)
    if form == "with":
        return Content(f"{figure} with each {group.one}", tail=tail, ask=f"how many {group.rows} have each {group.one}")
    if form == "per":
        return Content(f"{figure} per {group.one}", tail=tail)
    ask = _how_many(answer)
    return Content(f"{figure} for {each} {group.one}", tail=tail, ask=f"{ask} for {each} {group.one}" if ask else "")


def _how_many(answer: _Answer) -> str:
    """ "how many singers are there", where the rows are counted, all of them, and nothing else is asked; else ""."""
    return f"how many {answer.group.rows} are there" if answer.counts and answer.plain else ""


def _share_text(answer: _Answer) -> str:
    """The one figure that is asked for as a percentage; "" where it is none."""
    scene, group = answer.scene, answer.group
    if len(answer.asked) == 1 and isinstance(answer.asked[0], Share):
        rows = f"{scene.its(group.entity)} {group.rows}" if group.entity else group.rows
        return percentage(scene, answer.asked[0], rows).np
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
