"""A choice among answers is not an answer.

`intent` lets a prediction show columns that nobody asked for. Without a bound, one SELECT with every aggregate in it,
or with every row of a table side by side, would be right for any question of that kind; plain columns beside the
answer, of the same rows, are only more of the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from sqlglot import exp

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.sql.names.from_items import is_bracketed, json_columns, rows_of_json, written_columns
from agro_data.sql.walks import local_nodes
from agro_data.verify.equivalence import FURTHER

FURTHER_COMPUTED = 1  # such as the count that an order goes by
FURTHER_ROWS = 1  # of the same table, such as both ends of a flight where one was asked for
MOST = 200  # outputs that are looked at: a star of a star of a star doubles them each time

COMPUTED, CHOSEN = "<computed>", "<chosen>"  # instead of a table
ALL = "*"


@dataclass(frozen=True)
class Output:
    """A column of a query: its name in lower case, or `ALL` for the columns of a table behind a star.

    `table` is whose column it is: `COMPUTED`, or `CHOSEN` of a derived table that makes or picks its rows. `place` says
    where in the query it is computed, or from which mention of the table it comes, since rows of one table can stand
    side by side.
    """

    name: str
    table: str
    place: tuple[int, ...] = ()


Outputs = list[Output]


class _TooManyError(Exception):
    """More outputs than anyone writes."""


def hedges(gold: exp.Query, predicted: exp.Query, dialect: Dialect) -> str:
    """Why a prediction is a choice among answers to the gold's question, or ""."""
    try:
        given = _outputs(predicted, {}, dialect)
    except _TooManyError:
        return f"more than {MOST} columns in a query or in what it reads: a choice, not an answer"
    try:
        asked = _outputs(gold, {}, dialect)
    except _TooManyError:
        return ""
    computed, rows = _computed(given), max(_rows(given).values(), default=0)
    if computed > _computed(asked) + FURTHER_COMPUTED:
        return f"{computed} computed columns side by side where {_computed(asked)} answer: a choice, not an answer"
    if rows > max(1, _rows(asked).total()) + FURTHER_ROWS:
        return f"{rows} rows of one kind side by side where {_rows(asked).total()} answer: a choice, not an answer"
    if len(predicted.selects) > len(gold.selects) + FURTHER:
        return f"{len(predicted.selects)} columns where {len(gold.selects)} answer: a choice, not an answer"
    return ""


def _computed(outputs: Outputs) -> int:
    return sum(output.table == COMPUTED for output in outputs)


def _rows(outputs: Outputs) -> Counter[str]:
    """How many rows of each table, or of those that are chosen, stand side by side."""
    return Counter(table for table, _ in {(one.table, one.place) for one in outputs if one.table != COMPUTED})


def _outputs(query: exp.Expr, known: Mapping[str, Outputs], dialect: Dialect) -> Outputs:
    """The outputs of a query as far as they are written out, each once."""
    clause = query.args.get("with_")
    for cte in clause.expressions if clause else ():
        known = {**known, folded(cte.alias): _derived(cte, known, dialect)}
    if isinstance(query, exp.Subquery):
        return _outputs(query.this, known, dialect)
    if isinstance(query, exp.SetOperation):
        return _united(_outputs(query.this, known, dialect), _outputs(query.expression, known, dialect))
    sources = list(_sources(query, known, dialect))
    found: dict[Output, None] = {}
    for number, item in enumerate(query.selects if isinstance(query, exp.Select) else ()):
        for output in _shown(item, number, sources):
            found[output] = None
            if len(found) > MOST:
                raise _TooManyError
    return list(found)


def _united(first: Outputs, second: Outputs) -> Outputs:
    """The outputs of a set operation: computed where either side is, or may be, for a star hides which stands where."""
    hidden = any(one.name == ALL for one in (*first, *second)) and bool(_computed(first) + _computed(second))
    return [
        replace(mine, table=COMPUTED, place=(number,)) if hidden or COMPUTED in (mine.table, theirs.table) else mine
        for number, (mine, theirs) in enumerate(zip_longest(first, second, fillvalue=Output("", "")))
    ]


def _shown(item: exp.Expr, number: int, sources: list[tuple[str, Outputs]]) -> Iterator[Output]:
    """The outputs that one item of a SELECT stands for."""
    value, name = item.unalias(), folded(item.output_name)  # none of a call: the star of COUNT(*) is no column
    table = folded(value.table) if isinstance(value, exp.Column) else ""
    behind = [outputs for alias, outputs in sources if table in ("", alias)]
    if value.is_star or isinstance(value, exp.Columns):
        star = value.this if isinstance(value, exp.Column) else value
        for outputs in behind or [_of_struct(table, number, sources)]:
            yield from outputs
        for place, replaced in enumerate(star.args.get("replace") or ()):
            yield Output(folded(replaced.alias), COMPUTED, (number, place))
    elif isinstance(value, exp.Column):
        yield replace(_looked_up(folded(value.name), behind), name=name)
    elif value.find(exp.Columns):  # as many as a table has
        called = name if isinstance(item, exp.Alias) and "\\" not in name else ALL
        yield from [Output(called, COMPUTED, (number, place)) for place in range(FURTHER)]
    else:
        yield Output(name, COMPUTED, (number,))


def _of_struct(name: str, number: int, sources: list[tuple[str, Outputs]]) -> Outputs:
    """The fields of a struct; a struct that the query makes may have any number of them."""
    own = _looked_up(name, [outputs for _, outputs in sources])
    fields = FURTHER if own.table == COMPUTED else 1
    return [replace(own, name=ALL, place=(*own.place, number, place)) for place in range(fields)]


def _looked_up(name: str, behind: list[Outputs]) -> Output:
    """The output of a source that a column names; for a table's columns only the table is known. What has no name in
    the text has one of the engine's making.
    """
    for wanted in (name, ALL, ""):
        for outputs in behind:
            named = [one for one in outputs if one.name == wanted]
            if named:  # of several of one name, what is computed tells
                return max(named, key=lambda one: one.table == COMPUTED)
    return Output(name, "")


def _sources(select: exp.Expr, known: Mapping[str, Outputs], dialect: Dialect) -> Iterator[tuple[str, Outputs]]:
    """What a SELECT reads: alias and outputs, which have the number of the source before their place."""
    start = select.args.get("from_")
    items = [start.this] if start else []
    items += [join.this for join in select.args.get("joins") or ()]
    for number, item in enumerate(chain.from_iterable(map(_in_brackets, items))):
        if isinstance(item, exp.Subquery):
            outputs = _derived(item, known, dialect)
        elif isinstance(item, (exp.Values, exp.Unnest)):
            names = written_columns(item, dialect)
            outputs = [Output(name, COMPUTED, (place,)) for place, name in enumerate(names)]
        elif rows_of_json(item):
            outputs = [Output(name, COMPUTED, (place,)) for place, name in enumerate(json_columns(item))]
            outputs = _renamed(item, outputs)
        elif isinstance(item, exp.Table) and not item.db and folded(item.name) in known:
            outputs = _renamed(item, known[folded(item.name)])
        else:
            outputs = [Output(ALL, folded(item.name))]
        yield folded(item.alias_or_name), [replace(one, place=(number, *one.place)) for one in outputs]


def _in_brackets(item: exp.Expr) -> Iterator[exp.Expr]:
    """The sources that an item of a FROM holds: itself, or in brackets several that are joined."""
    if is_bracketed(item):
        yield from _in_brackets(item.this)
    else:
        yield item
    for join in item.args.get("joins") or ():
        yield from _in_brackets(join.this)


def _derived(item: exp.Expr, known: Mapping[str, Outputs], dialect: Dialect) -> Outputs:
    """The outputs of a derived table or a common table expression."""
    outputs = _renamed(item, _outputs(item.this, known, dialect))
    if not _chooses(item.this):
        return outputs
    return [one if one.table == COMPUTED else replace(one, table=CHOSEN, place=()) for one in outputs]


def _chooses(query: exp.Expr) -> bool:
    """Whether a query gives anything but the rows of its tables that fulfil a condition."""
    if any(query.args.get(clause) for clause in ("limit", "offset", "distinct", "group", "qualify")):
        return True
    if isinstance(query, exp.Subquery):
        return _chooses(query.this)
    selects = query.selects if isinstance(query, exp.Select) else ()
    aggregated = any(isinstance(node, exp.AggFunc) for item in selects for node in local_nodes(item))
    return aggregated or isinstance(query, exp.SetOperation)


def _renamed(item: exp.Expr, outputs: Outputs) -> Outputs:
    """Outputs under the names that an alias gives them; where a star hides which is which, any may be computed."""
    alias = item.args.get("alias")
    names = [folded(column.name) for column in alias.args.get("columns") or ()] if alias else []
    if any(one.name == ALL for one in outputs):
        hidden = max(outputs, key=lambda one: one.table == COMPUTED)
        computed = hidden.table == COMPUTED
        places = [(*hidden.place, place) if computed else hidden.place for place in range(len(names))]
        named = [replace(hidden, name=name, place=place) for name, place in zip(names, places, strict=True)]
        return [*named, *outputs]
    names += [one.name for one in outputs[len(names) :]]
    return [replace(one, name=name) for name, one in zip(names, outputs, strict=False)]
