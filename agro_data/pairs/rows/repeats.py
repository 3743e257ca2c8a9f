"""What a question counts or averages, and a join repeats: a student with two allergies is two rows of students and
allergies, and one of "how many students".

Only where the question says the noun of a table right where it says what is computed, where two tables multiply each
other, or where a key is counted beside all rows. Each finding is demonstrated: with each row of that table once, the
statement gives another answer, and not for the rows alone that have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.demonstrating import Offer
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.rows.row_keys import RowKey, nouns_of, only_table, row_keys
from agro_data.profiling.keys.same_key import Keys
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.conditions import linking
from agro_data.sql.constructs import aggregates_of
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Place, Resolution, Scope, Source
from agro_data.sql.said import plain, words_of

_BEFORE = r"(?: (?:of|the|all|any|different|distinct|unique|other|those|these|total))*(?: (?!of\b|and\b|or\b)\w+)?"
_COUNTED = rf"\b(?:how many|(?:number|count) of){_BEFORE} (?:%s)\b"
_COMPUTED = r"(?: (?!(?:of|for|and|or|over|per|across)\b)\w+){0,4} (?:of|for)"
_MEAN = rf"\b(?:average|mean|avg){_COMPUTED}{_BEFORE} (?:%s)\b(?! (?:for|of|per|in each)\b)"
_SUM = rf"\b(?:total|sum){_COMPUTED}{_BEFORE} (?:%s)\b(?= (?:who|that|which|whose|with|having|where)\b)"
_AROUND = frozenset({"expressions", "group", "having", "order", "limit", "offset"})  # what rows are made into
_SAYING_NOTHING = frozenset(
    re.findall(
        r"\w+",
        "a all an and are average by calculate combined compute each every find for from get give have has how in is "
        "list many mean me much of on our overall per please return show sum that the their there to total was were "
        "what whole whose with",
    )
)


@dataclass(frozen=True)
class _Once:
    """What may be said of a statement, and the statement with each thing `once`. `repeated`: without the rows that have
    no such thing, which may not be all that makes the difference; "" where each row has one.
    """

    says: str
    once: str
    repeated: str = ""
    alone: str = ""  # what to hold against `once` where that is only a part of the statement


def offer_repeats(pair: Pair, found: Resolution, profile: DatabaseProfile) -> Iterator[Offer]:
    """What is offered for one pair."""
    for one in _repeats(plain(pair.question), found, profile) if pair.question.strip() else ():
        finding = Finding("counted_again", one.says)
        yield Offer(finding, one.alone or pair.sql, one.once, found.ordered and not one.alone, one.repeated)


def _repeats(question: str, found: Resolution, profile: DatabaseProfile) -> Iterator[_Once]:
    for scope in found.scopes:
        calls = aggregates_of(scope.select)
        if not calls or any(node.find_ancestor(exp.Window) is not None for node in calls):
            continue
        yield from _multiplied(calls, scope, found, profile)
        yield from _as_rows(calls, scope, found, profile)
        if all(isinstance(node, exp.Count) for node in calls):
            yield from _counted(question, calls, scope, found, profile)
        elif scope.select is found.tree:
            yield from _computed(question, calls, scope, found, profile)


# --- counted -----------------------------------------------------------------------------------------------------


def _counted(
    question: str, calls: Sequence[exp.Expr], scope: Scope, found: Resolution, profile: DatabaseProfile
) -> Iterator[_Once]:
    """COUNT of rows, or of a column, in the only way that a SELECT has it."""
    dialect = profile.dialect
    if len({sql_text(call, dialect) for call in calls}) > 1 or not isinstance(calls[0].this, (exp.Star, exp.Column)):
        return
    said = {
        table: key
        for table, key in row_keys(scope, profile).items()
        if re.search(_COUNTED % nouns_of(table, profile), question)
    }
    if len(said) != 1:
        return
    ((table, key),) = said.items()
    keys = Keys.of(profile)
    if key is None or _groups_by(key, scope, found, keys) or _counts_others(calls[0].this, key, scope, found, keys):
        return
    noun = profile.table(table).plural
    where = ".".join(key.place)
    says = f"The question asks how many {noun}, the SQL counts rows, several of which have the same {where}:"
    once = [(call, exp.Count(this=exp.Distinct(expressions=[key.node]))) for call in calls]
    repeated = [(call, exp.Count(this=key.node)) for call in calls]
    yield _Once(
        f"{says} with each counted once the answer is another.",
        rewritten(found, once, dialect),
        rewritten(found, repeated, dialect),
    )


def _groups_by(key: RowKey, scope: Scope, found: Resolution, keys: Keys) -> bool:
    """Whether the rows of a group have one key."""
    group = scope.select.args.get("group")
    terms = [found.meaning(term, scope.select) for term in group.expressions] if group is not None else []
    places = [place for term in terms if (place := found.place(term)) is not None]
    return any(keys.same(_lower(place), _lower(key.place)) for place in places)


def _counts_others(counted: exp.Expr, key: RowKey, scope: Scope, found: Resolution, keys: Keys) -> bool:
    """Whether what is counted are such rows in another role: papers that a paper cites."""
    bound = found.binding(counted) if isinstance(counted, exp.Column) else None
    if bound is None or bound.place is None or not keys.same(_lower(bound.place), _lower(key.place)):
        return False
    if bound.source is key.source and bound.place == key.place:
        return False
    linked = linking(found, scope)
    links = [found.binding(column) for column in scope.select.find_all(exp.Column) if id(column) in linked]
    return not any(one is not None and one.source is bound.source and one.name == bound.name for one in links)


def _lower(place: Place) -> Place:
    return folded(place[0]), folded(place[1])


# --- multiplied by each other ---------------------------------------------------------------------------------------


def _multiplied(
    calls: Sequence[exp.Expr], scope: Scope, found: Resolution, profile: DatabaseProfile
) -> Iterator[_Once]:
    """Figures of two tables that both refer to a third: a join of the two has each row of the one as often as the other
    has rows, whether or not the third stands between them. Shown by one of the figures alone; one that counts or sums
    different values is right itself, and the other is not.
    """
    select, dialect = scope.select, profile.dialect
    plain_rows = select is found.tree and select.args.get("distinct") is None and select.find(exp.Subquery) is None
    others = [source for call in calls if (source := _source_of(call, found)) is not None]
    figures = [(call, source) for call in calls if not call.find(exp.Distinct) and (source := _source_of(call, found))]
    group = select.args.get("group")
    terms = [found.meaning(term, select) for term in group.expressions] if group is not None else []
    for call, source in figures if plain_rows else ():
        key = row_keys(scope, profile).get(source.table)
        other = next((one for one in others if _are_beside(source, one, profile)), None)
        if key is None or other is None or any(isinstance(term, exp.Literal) for term in terms):
            continue
        alone, once, taken = _rows(scope), exp.Select(), dict[str, exp.Expr]()
        alone.set("expressions", [one.copy() for one in (*terms, call)])
        once.set("expressions", [_named(one, found, taken) for one in (*terms, call)])
        for made, keys in ((alone, [one.copy() for one in terms]), (once, once.expressions[:-1])):
            if keys:
                made.set("group", exp.Group(expressions=[one.copy() for one in keys]))
        says = (
            f"{sql_text(call, dialect)} has each row of {source.table} as often as the join has rows of "
            f"{other.table} beside it: with each once it is another."
        )
        yield _Once(says, _over(once, taken, key, scope, dialect), alone=sql_text(alone, dialect))


def _as_rows(calls: Sequence[exp.Expr], scope: Scope, found: Resolution, profile: DatabaseProfile) -> Iterator[_Once]:
    """COUNT of a key beside COUNT(*): two numbers are asked for, and both count the rows of the join."""
    dialect, shown = profile.dialect, {id(item.unalias()) for item in scope.select.expressions}
    if scope.select is not found.tree or not any(isinstance(call.this, exp.Star) for call in calls):
        return
    for call in calls:
        bound = found.binding(call.this) if isinstance(call, exp.Count) and id(call) in shown else None
        key = row_keys(scope, profile).get(bound.source.table) if bound is not None and bound.source else None
        if bound is None or key is None or key.source is not bound.source or bound.place != key.place:
            continue
        says = (
            f"{sql_text(call, dialect)} counts the rows of the join, as COUNT(*) does: with each row of "
            f"{key.source.table} once it is another."
        )
        once = exp.Count(this=exp.Distinct(expressions=[call.this.copy()]))
        yield _Once(says, rewritten(found, [(call, once)], dialect))


def _source_of(call: exp.Expr, found: Resolution) -> Source | None:
    """The table whose columns alone a sum, an average or a count of values is made of."""
    return only_table([call], found) if isinstance(call, (exp.Sum, exp.Avg, exp.Count)) else None


def _are_beside(one: Source, other: Source, profile: DatabaseProfile) -> bool:
    """Whether two tables refer to a third, and neither to the other."""
    refers = {(key.table, key.ref_table) for key in profile.foreign_keys}
    both = (one.table, other.table)
    if one.table == other.table or both in refers or both[::-1] in refers:
        return False
    parents = {parent for _, parent in refers} - set(both)
    return any((one.table, parent) in refers and (other.table, parent) in refers for parent in parents)


# --- summed and averaged -----------------------------------------------------------------------------------------


def _computed(
    question: str, calls: Sequence[exp.Expr], scope: Scope, found: Resolution, profile: DatabaseProfile
) -> Iterator[_Once]:
    """SUM or AVG of a table's columns, where a SELECT joins the table with others."""
    source = only_table(calls, found)
    plain_calls = all(isinstance(call, (exp.Sum, exp.Avg)) and call.find(exp.Distinct) is None for call in calls)
    if not plain_calls or source is None or len(scope.sources) < 2:
        return
    key = row_keys(scope, profile).get(source.table)
    pattern = _MEAN if all(isinstance(call, exp.Avg) for call in calls) else _SUM
    if key is None or key.source is not source:
        return
    if re.search(pattern % nouns_of(source.table, profile), question):
        what = f"The question asks for a figure of {profile.table(source.table).plural}, the join has"
    elif needless := _needless(question, scope, found, profile):
        what = f"Nothing is asked of {needless}, with which the join has"
    else:
        return
    once = _each_once(key, scope, found, profile.dialect)
    if once:
        says = f"several rows with the same {'.'.join(key.place)}: with each taken once the answer is another."
        yield _Once(f"{what} {says}", once)


def _needless(question: str, scope: Scope, found: Resolution, profile: DatabaseProfile) -> str:
    """A table that a SELECT joins and uses in nothing but joins, where all words of the question are of the others, or
    say nothing by themselves; "" for none.
    """
    if len(found.scopes) > 1:
        return ""
    linked = linking(found, scope)
    columns = [column for column in found.tree.find_all(exp.Column) if id(column) not in linked]
    used = {one.source.table for column in columns if (one := found.binding(column)) is not None and one.source}
    idle = [source.table for source in scope.sources if source.table and source.table not in used]
    if not idle:
        return ""
    named = [name for table in used if table for name in _names_of(table, profile)]
    values = [one.name for one in found.tree.find_all(exp.Literal)]
    known = {*_SAYING_NOTHING, *words_of(" ".join((*named, *values)))}
    return idle[0] if all(word in known or word.removesuffix("s") in known for word in question.split()) else ""


def _names_of(table: str, profile: DatabaseProfile) -> Iterator[str]:
    called = profile.table(table)
    yield from (table, called.singular, called.plural, *called.synonyms)
    for column in called.columns:
        yield from (column.name, column.phrase, *column.synonyms)


def _each_once(key: RowKey, scope: Scope, found: Resolution, dialect: Dialect) -> str:
    """The statement over the different rows of its FROM, of which only the key and the columns that it names elsewhere
    are looked at; "" where another query stands in it.
    """
    select = scope.select
    if select.args.get("distinct") is not None or any(item.is_star for item in select.expressions):
        return ""
    taken: dict[str, exp.Expr] = {}
    outer = exp.Select()
    for name, part in select.args.items():
        if name in _AROUND:
            if any(one.find(exp.Query) is not None for one in _listed(part)):
                return ""
            new = [_named(one, found, taken) for one in _listed(part)]
            outer.set(name, new if isinstance(part, list) else new[0] if new else None)
    return _over(outer, taken, key, scope, dialect)


def _over(outer: exp.Select, taken: dict[str, exp.Expr], key: RowKey, scope: Scope, dialect: Dialect) -> str:
    """A SELECT of what was taken from the different rows of a FROM and the key."""
    inner = _rows(scope)
    columns = [exp.alias_(node.copy(), name) for name, node in taken.items()]
    inner.set("expressions", [exp.alias_(key.node, "each"), *columns])
    rows = exp.Subquery(this=inner.distinct(), alias=exp.TableAlias(this=exp.to_identifier("once")))
    return sql_text(outer.from_(rows), dialect)


def _rows(scope: Scope) -> exp.Select:
    """A SELECT with the FROM and the conditions of another, and nothing else yet."""
    rows = exp.Select()
    for name, part in scope.select.args.items():
        if name not in _AROUND and part:
            rows.set(name, [one.copy() for one in part] if isinstance(part, list) else part.copy())
    return rows


def _listed(part: exp.Expr | list[exp.Expr] | None) -> list[exp.Expr]:
    return part if isinstance(part, list) else [] if part is None else [part]


def _named(part: exp.Expr, found: Resolution, taken: dict[str, exp.Expr]) -> exp.Expr:
    """A part of a statement with names of its own for columns, which are noted."""
    holder = exp.Paren(this=part.copy())
    for old, new in zip(list(part.find_all(exp.Column)), list(holder.find_all(exp.Column)), strict=True):
        binding = found.binding(old)
        if binding is not None and binding.kind == "column":
            name = next((name for name, node in taken.items() if node == old), f"c{len(taken)}")
            taken[name] = old
            new.replace(exp.column(name))
    named: exp.Expr = holder.this
    return named
