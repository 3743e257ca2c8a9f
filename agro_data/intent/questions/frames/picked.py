"""Frames for groups that a bound picks, that come first, or that lie above the average of all."""

from __future__ import annotations

from collections.abc import Sequence

from agro_data.intent.questions.clauses.comparing import compared
from agro_data.intent.questions.clauses.order import extreme_word, holding, order_clause
from agro_data.intent.questions.clauses.phrases import figure, quantity, scalar, subject, term
from agro_data.intent.questions.clauses.values import say_value
from agro_data.intent.questions.content import Content
from agro_data.intent.questions.frames.columns import listed_names
from agro_data.intent.questions.frames.grouping import Group, group_of
from agro_data.intent.questions.frames.lists import ranked
from agro_data.intent.questions.frames.totals import short_figures
from agro_data.intent.questions.habits import (
    ALONG,
    FEWEST,
    MOST,
    NAMING,
    NUMBER_WORD,
)
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.nouns import Scene
from agro_data.intent.tree import (
    Aggregate,
    Column,
    Comparison,
    Expression,
    OrderKey,
    Query,
    Scalar,
    Value,
)


def having(scene: Scene) -> Content:
    """The groups whose figure meets a bound."""
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
            kind = kind if one else f"different {words.plural(kind)}"
            many = f"{kind} among {voice.pick('their', 'the')} {group.rows}"
        else:
            many = subject(scene, scene.grain, False, skip={group.entity}, drop=group.drop) if one else group.rows
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
        names = [words.plural(quantity(scene, e, group.entity)) for e in shown]
        np = (
            f"the {listed_names(voice, names)} of the {many}"
            if voice.chance(0.5)
            else f"the {listed_names(voice, names)} of {many}"
        )
    if asked:
        extra = short_figures(scene, asked, group.row_noun)
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
    names = [quantity(scene, e, group.entity or scene.grain) for e in shown]
    figures_ = [short_figures(scene, [e], group.row_noun) for e in asked]
    told = not group.entity or (len(shown) == 1 and isinstance(shown[0], Column) and scene.names(shown[0]))
    then = "" if told and not asked else f"{scene.voice.weigh(NAMING)} the {scene.voice.listed([*names, *figures_])}."
    return f"which {group.one if has == 'has' else group.many} {has} {held}", then


def best_group(scene: Scene) -> Content:
    """The k groups with the largest or smallest figure."""
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
        if counted and not asked and group.rows == group.row_noun and voice.chance(0.45):
            common = "most common" if key.descending else "least common"
            np = f"the {common} {group.one} {voice.pick('among', 'of')} {voice.pick('all ', '')}{group.rows}"
    else:
        names = [quantity(scene, e, group.entity) for e in shown]
        np = f"the {listed_names(voice, names)} of the {group.one} {condition}"
    if asked:
        narrowed = "these " if group.rows != group.row_noun else ""
        np = f"{np}, {voice.weigh(ALONG)} {short_figures(scene, asked, f'{narrowed}{group.row_noun}')}"
    ask, then = ("", "") if asked or np.count(" most common ") else _which_groups(scene, group, condition, shown, asked)
    return Content(np, ask=ask, then=then)


def _extreme_figure(scene: Scene, key: OrderKey, group: Group) -> str:
    value = key.expression
    if isinstance(value, Aggregate) and value.function == "count":
        ways = MOST if key.descending else FEWEST
        most = scene.voice.weigh(ways)
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
    if inner_query.joins:
        over = f"the average over all {words.plural(short)} that have {group.row_noun}"
    condition = f"for which the {said} is {above} {over}"
    shown = [by_name[o.expression.name] for o in query.select if isinstance(o.expression, Column)]
    keys = [e for e in shown if e in inner_query.group_by]
    asked = [e for e in shown if e not in inner_query.group_by]
    if group.entity:
        names = [words.plural(quantity(inner, e, group.entity)) for e in keys]
        np = f"the {listed_names(voice, names)} of the {group.many} {condition}"
    else:
        np = f"the {group.many} {condition}"
    if asked:
        np = f"{np}, along with {short_figures(inner, asked, group.row_noun)}"
    return Content(np)
