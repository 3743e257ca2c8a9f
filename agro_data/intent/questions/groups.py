"""Frames for answers with one row for each group: a category, a related parent, a period, a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agro_data.intent.questions import words
from agro_data.intent.questions.bands import banded, banded_column
from agro_data.intent.questions.comparing import compared
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.habits import (
    ALONG,
    DIFFERENT,
    EACH,
    FIGURE_FIRST,
    GROUP_FIRST,
    NAMING,
    NUMBER_WORD,
    OF_ENTITY,
)
from agro_data.intent.questions.lists import implied, ranked
from agro_data.intent.questions.nouns import Scene
from agro_data.intent.questions.order import extreme_word, holding, order_clause
from agro_data.intent.questions.phrases import figure, scalar, subject, term
from agro_data.intent.questions.totals import figures, percentage
from agro_data.intent.questions.values import say_value
from agro_data.intent.questions.vocabulary import CONTAINERS
from agro_data.intent.tree import (
    Aggregate,
    Case,
    Column,
    Comparison,
    DatePart,
    Expression,
    OrderKey,
    Query,
    Scalar,
    Share,
    Value,
)


@dataclass(frozen=True)
class Group:
    """One group in words. `entity` is the alias of the parent that each group is, or "" for a category.

    `one`/`many` name the group with its conditions; `rows` the rows in it with theirs.
    """

    entity: str
    one: str
    many: str
    rows: str
    row_noun: str


def group_of(scene: Scene) -> Group:
    """What the rows of the query are grouped by."""
    query = scene.query
    keys = query.group_by
    drop = implied(query, keys)
    base = scene.grain
    columns = [k for k in keys if isinstance(k, Column)]
    entity = ""
    if columns and len({c.source for c in columns}) == 1 and columns[0].source != base and len(columns) == len(keys):
        table = scene.table(columns[0].source)
        named = {c.name for c in columns}
        if table is not None and (
            (table.primary_key and named.issuperset(table.primary_key)) or any(table.column(n).unique for n in named)
        ):
            entity = columns[0].source
    noun = scene.many(base)
    if entity:
        skip = {s.alias for s in query.sources if s.alias != entity and s.alias not in _above(scene, entity)}
        one = subject(scene, entity, False, skip=skip, drop=drop)
        many = subject(scene, entity, True, skip=skip, drop=drop)
        return Group(entity, one, many, subject(scene, base, True, skip={entity}, drop=drop), noun)
    names = [key_term(scene, k, base) for k in keys]
    one = words.singular(names[0]) if len(names) == 1 else f"combination of {scene.voice.listed(names)}"
    many = words.plural(names[0]) if len(names) == 1 else f"combinations of {scene.voice.listed(names)}"
    return Group("", one, many, subject(scene, base, True, drop=drop), noun)


def _above(scene: Scene, alias: str) -> set[str]:
    """Sources reached from `alias` without passing through the grain."""
    reached, frontier = {alias}, [alias]
    while frontier:
        for other, _, _ in scene.neighbours(frontier.pop()):
            if other not in reached and other != scene.grain:
                reached.add(other)
                frontier.append(other)
    return reached


def key_term(scene: Scene, key: Expression, base: str) -> str:
    """ "country"; "year of the order date"."""
    if isinstance(key, DatePart):
        column = term(scene, key.argument, base)
        part = {"year": "year", "month": "calendar month", "day": "day of the month", "weekday": "day of the week",
                "year_month": "year and month"}[key.part]  # fmt: skip
        return f"{part} of the {column}"
    return term(scene, key, base)


def grouped(scene: Scene) -> Content:
    """Figures for each group."""
    query = scene.query
    if any(isinstance(k, Case) for k in query.group_by):
        return _bands(scene)
    if query.limit is not None and query.order_by:
        return _best_group(scene)
    if query.having is not None:
        return _having(scene)
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
    if group.entity:
        return _entity(scene, group, shown, asked, tail, left)
    return _category(scene, group, shown, asked, tail)


def _entity(
    scene: Scene, group: Group, shown: Sequence[Expression], asked: Sequence[Expression], tail: str, left: bool
) -> Content:
    voice = scene.voice
    names = [term(scene, e, group.entity) for e in shown]
    person = words.is_person(scene.one(group.entity))
    they = "they have" if person else "it has"
    first = asked[0] if asked else None
    counts = isinstance(first, Aggregate) and first.function == "count" and not first.distinct and len(asked) == 1
    one = group.one
    if not left and group.rows == group.row_noun and one == scene.one(group.entity) and voice.chance(0.3):
        one = f"{one} with at least one {scene.one(scene.grain)}"
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
    np = f"the {scene.voice.listed(names)} of each {one} and {f}"
    ask = then = ""
    if counts and group.rows == group.row_noun:
        ask = f"how many {group.rows} {f'are {relation} each {one}' if relation else f'does each {one} have'}"
        told = ["number", *names] if _figure_first(scene) else [*names, "number"]
        then = f"{voice.weigh(NAMING)} the {voice.listed(told)}."
    form = voice.weigh(OF_ENTITY)
    if form == "lead":
        led = f"the {scene.voice.listed(names)} and {f}" if len(names) == 1 else f"the {', '.join(names)} and {f}"
        return Content(led, lead=f"for {voice.weigh(EACH)} {one}", tail=tail, ask=ask, then=then)
    if form == "plural" and counts and not relation and one == group.one:
        several = voice.listed([words.plural(n) for n in names])
        count = f"the number of {group.rows} {voice.pick('each of them has', 'for each', 'each one has')}"
        rest = group.many if group.many != scene.many(group.entity) else voice.pick("all ", "the ", "") + group.many
        return Content(f"the {several} of {rest} and {count}", tail=tail, ask=ask, then=then)
    return Content(np, tail=tail, ask=ask, then=then)


def _category(
    scene: Scene, group: Group, shown: Sequence[Expression], asked: Sequence[Expression], tail: str
) -> Content:
    voice = scene.voice
    f = _share_text(scene, asked, group) or figures(scene, asked, group.rows)
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
    if not _figure_first(scene):
        simple = isinstance(first, Aggregate) and first.where is None and not paired
        form = voice.weigh(GROUP_FIRST) if simple else "lead"
        if form == "lead" or (form == "each" and not plain):
            return Content(f, lead=f"for {each} {group.one}", tail=tail, ask=ask)
        if form == "each":
            return Content(f"each {group.one} and {f} for it", tail=tail)
        different = "" if form == "plain" else f"{voice.weigh(DIFFERENT)} "
        return Content(f"the {different}{group.many} and {f} {voice.pick('for', 'for', 'of')} each", tail=tail)
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
    if form == "in":
        asks = f"how many {group.rows} are there in {each} {group.one}"
        return Content(f"{f} in {each} {group.one}", tail=tail, ask=asks)
    if form == "with":
        return Content(f"{f} with each {group.one}", tail=tail, ask=f"how many {group.rows} have each {group.one}")
    if form == "per":
        return Content(f"{f} per {group.one}", tail=tail)
    ask = f"{ask} for {each} {group.one}" if ask else ""
    return Content(f"{f} for {each} {group.one}", tail=tail, ask=ask)


def _figure_first(scene: Scene) -> bool:
    """Whether the answer shows the figure before the group it is of."""
    return scene.query.select[0].expression not in scene.query.group_by


def _holds(noun: str) -> bool:
    """Whether rows are said to be in such a group."""
    return words.last_word(noun).lower() in CONTAINERS


def _share_text(scene: Scene, asked: Sequence[Expression], group: Group) -> str:
    if len(asked) == 1 and isinstance(asked[0], Share):
        rows = f"{scene.its(group.entity)} {group.rows}" if group.entity else group.rows
        return percentage(scene, asked[0], rows).np
    return ""


# --- groups that meet a bound, or come first -----------------------------------------------------------------------


def _having(scene: Scene) -> Content:
    query = scene.query
    group = group_of(scene)
    assert isinstance(query.having, Comparison), "having compares one aggregate with a bound"
    condition = _bound(scene, group, query.having)
    return _groups_with(scene, group, condition, order_clause(scene, query.order_by, scene.grain))


def _bound(scene: Scene, group: Group, having: Comparison) -> str:
    """ "with more than 3 singers"."""
    value, right, voice = having.left, having.right, scene.voice
    assert isinstance(value, Aggregate)
    if value.function == "count" and isinstance(right, Value) and isinstance(right.value, int):
        number = words.number_word(right.value) if right.value <= 10 and voice.chance(NUMBER_WORD) else str(right.value)
        amount = {">": f"more than {number}", ">=": voice.pick(f"at least {number}", f"{number} or more"),
                  "<": f"fewer than {number}", "<=": f"at most {number}", "=": f"exactly {number}",
                  "!=": f"other than {number}"}[having.operator]  # fmt: skip
        one = right.value == 1
        if value.distinct and value.argument is not None:
            kind = term(scene, value.argument, scene.grain)
            kind = f"different {kind if one else words.plural(kind)}"
            many = f"{kind} among {voice.pick('their', 'the')} {group.rows}"
        else:
            many = subject(scene, scene.grain, False, skip={group.entity}) if one else group.rows
        have = "with" if voice.chance(0.4) else "that have"
        if have == "that have" and group.entity:
            have = f"{scene.who(group.entity)} have"
        return f"{have} {amount} {many}"
    said = figure(scene, value, group.rows)
    text = (
        say_value(right, None, voice)
        if isinstance(right, Value)
        else scalar(scene, right)
        if isinstance(right, Scalar)
        else ""
    )
    made = compared(said, "number", having.operator, text, voice)
    where = "for which" if group.entity else voice.pick("for which", "where")
    return f"{where} the {made.whose}"


def _groups_with(scene: Scene, group: Group, condition: str, tail: str) -> Content:
    """The groups that a condition picks, with the figures asked of them."""
    query, voice = scene.query, scene.voice
    shown = [o.expression for o in query.select if o.expression in query.group_by]
    asked = [o.expression for o in query.select if o.expression not in query.group_by]
    many = f"{group.many} {condition}"
    if not group.entity:
        np = f"the {many}" if voice.chance(0.8) or not condition.startswith("that") else f"all {many}"
    else:
        names = [words.plural(term(scene, e, group.entity)) for e in shown]
        np = (
            f"the {scene.voice.listed(names)} of the {many}"
            if voice.chance(0.5)
            else f"the {scene.voice.listed(names)} of {many}"
        )
    if asked:
        extra = _short_figures(scene, asked, group)
        np = f"{np}, {voice.weigh(ALONG)} {extra} {voice.pick('for each', 'of each')}"
    ask, then = _which_groups(scene, group, condition, shown, asked)
    return Content(np, tail=tail, ask=ask, then=then)


def _which_groups(
    scene: Scene, group: Group, condition: str, shown: Sequence[Expression], asked: Sequence[Expression]
) -> tuple[str, str]:
    """ "which countries have more than 3 singers", and a request for what that leaves to be named."""
    if len(scene.query.group_by) > 1 and not group.entity:
        return "", ""
    word, _, held = condition.partition(" ")
    if word in ("that", "who"):
        word, _, held = held.partition(" ")
    if word not in ("with", "have", "has") or group.many[:1].isdigit():
        return "", ""
    has = "has" if scene.query.limit == 1 else "have"
    names = [term(scene, e, group.entity) if group.entity else term(scene, e, scene.grain) for e in shown]
    figures_ = [_short_figures(scene, [e], group) for e in asked]
    told = not group.entity or (len(shown) == 1 and isinstance(shown[0], Column) and scene.names(shown[0]))
    then = "" if told and not asked else f"{scene.voice.weigh(NAMING)} the {scene.voice.listed([*names, *figures_])}."
    return f"which {group.one if has == 'has' else group.many} {has} {held}", then


def _short_figures(scene: Scene, asked: Sequence[Expression], group: Group) -> str:
    said = []
    for e in asked:
        if isinstance(e, Aggregate):
            rows = group.row_noun if e.function == "count" and not e.distinct else ""
            said.append(f"the {figure(scene, e, rows or None or group.row_noun, short=not rows)}")
        else:
            said.append(f"the {term(scene, e, scene.grain)}")
    return scene.voice.listed(said)


def _best_group(scene: Scene) -> Content:
    query, voice = scene.query, scene.voice
    group = group_of(scene)
    key, k = query.order_by[0], query.limit or 1
    noun = (group.many if k > 1 else group.one) if not group.entity else scene.one(group.entity)
    if group.entity and k > 1:
        noun = scene.many(group.entity)
    condition = f"{holding(scene, noun)} the {_extreme_figure(scene, key, group)}"
    if k > 1:
        content = _groups_with(
            scene, Group(group.entity, group.one, f"{k} {group.many}", group.rows, group.row_noun), condition, ""
        )
        return Content(content.np, tail=ranked(scene, key))
    shown = [o.expression for o in query.select if o.expression in query.group_by]
    asked = [o.expression for o in query.select if o.expression not in query.group_by]
    if not group.entity:
        np = f"the {group.one} {condition}"
        counted = isinstance(key.expression, Aggregate) and key.expression == Aggregate("count")
        if counted and not asked and group.rows == group.row_noun and voice.chance(0.3):
            common = "most common" if key.descending else "least common"
            np = f"the {common} {group.one} {voice.pick('among', 'of')} {voice.pick('all ', '')}{group.rows}"
    else:
        names = [term(scene, e, group.entity) for e in shown]
        np = f"the {scene.voice.listed(names)} of the {group.one} {condition}"
    if asked:
        same = len(asked) == 1 and asked[0] == key.expression
        counted = isinstance(asked[0], Aggregate) and asked[0].function == "count"
        told = (
            voice.pick("how many there are", "that number") if counted else voice.pick("that value", "the value itself")
        )
        extra = told if same else _short_figures(scene, asked, group)
        np = f"{np}, {voice.weigh(ALONG)} {extra}"
    ask, then = ("", "") if asked or np.count(" most common ") else _which_groups(scene, group, condition, shown, asked)
    return Content(np, ask=ask, then=then)


def _extreme_figure(scene: Scene, key: OrderKey, group: Group) -> str:
    value = key.expression
    if isinstance(value, Aggregate) and value.function == "count":
        most = scene.voice.pick("most", "most", "largest number of", "highest number of") if key.descending else \
            scene.voice.pick("fewest", "smallest number of")  # fmt: skip
        if value.distinct and value.argument is not None:
            return f"{most} different {words.plural(term(scene, value.argument, scene.grain))} among its {group.rows}"
        return f"{most} {group.rows}"
    extreme = extreme_word(scene, value, key.descending)
    if isinstance(value, Aggregate):
        extreme = (
            extreme if extreme in ("latest", "earliest", "most recent") else ("highest" if key.descending else "lowest")
        )
        return f"{extreme} {figure(scene, value, group.rows)}"
    return f"{extreme} {term(scene, value, scene.grain)}"


# --- bands and comparisons of groups -------------------------------------------------------------------------------


def _bands(scene: Scene) -> Content:
    query = scene.query
    case = next(k for k in query.group_by if isinstance(k, Case))
    rows = subject(scene, scene.grain, True)
    asked = [o.expression for o in query.select if not isinstance(o.expression, Case)]
    f = figures(scene, asked, rows)
    column, bands = banded_column(scene, case, scene.grain), banded(scene, case)
    form = scene.voice.pick(f"{f} in each {column} band", f"{f} for each band of {column}")
    return Content(form, tail=f"where the bands are {bands}")


def compared_groups(scene: Scene) -> Content:
    """Groups (of a CTE) whose figure lies above or below the average over all groups."""
    query, voice = scene.query, scene.voice
    cte = next(iter(scene.cte_of.values()))
    inner_query = cte.query
    assert isinstance(inner_query, Query)
    inner = Scene(inner_query, scene.profile, voice, scene)
    group = group_of(inner)
    by_name = {o.name: o.expression for o in inner_query.select if o.name is not None}
    test = query.where
    assert isinstance(test, Comparison)
    assert isinstance(test.left, Column)
    value = by_name[test.left.name]
    assert isinstance(value, Aggregate)
    said = figure(inner, value, group.rows)
    above = (
        voice.pick("above", "higher than", "greater than")
        if test.operator == ">"
        else voice.pick("below", "lower than")
    )
    short = inner.one(group.entity) if group.entity else group.one
    over = voice.pick(f"the average over all {words.plural(short)}", f"the average across all {words.plural(short)}")
    if group.entity:
        over = f"the average over all {words.plural(short)} that have {group.row_noun}"
    condition = f"for which the {said} is {above} {over}"
    shown = [by_name[o.expression.name] for o in query.select if isinstance(o.expression, Column)]
    keys = [e for e in shown if e in inner_query.group_by]
    asked = [e for e in shown if e not in inner_query.group_by]
    if group.entity:
        names = [words.plural(term(inner, e, group.entity)) for e in keys]
        np = f"the {scene.voice.listed(names)} of the {group.many} {condition}"
    else:
        np = f"the {group.many} {condition}"
    if asked:
        np = f"{np}, along with {_short_figures(inner, asked, group)}"
    return Content(np)
