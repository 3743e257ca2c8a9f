"""What NULL makes of a condition: nothing is equal to it, nor unequal, and no row is NOT IN a list that holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import folded
from agro_data.databases.types import Database, Dialect
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.comparisons import COMPARISONS
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.walks import around, leftmost
from agro_data.verify.difference import shown
from agro_data.verify.execution import execute

_HOLDS = (
    exp.Where,
    exp.Having,
    exp.Qualify,
    exp.Join,
    exp.And,
    exp.Or,
    exp.Paren,
    exp.Not,
    exp.If,
)  # a condition by itself


def check_nulls(
    database: Database, names: Mapping[str, Resolution], profile: DatabaseProfile, sandbox: Sandbox
) -> dict[str, list[Finding]]:
    """Findings of each statement: comparisons with NULL, and NOT IN a list that has a NULL on this data."""
    findings = {
        sql: [*_compared(found, database.dialect), *_written(found, database.dialect)] for sql, found in names.items()
    }
    lists = [(sql, one) for sql, found in names.items() for one in _lists(found, profile, database.dialect)]
    with_null = execute([(database, one.nulls) for _, one in lists], sandbox, "rows")
    for (sql, one), result in zip(lists, with_null, strict=True):
        if result.ok and result.rows:
            findings[sql].append(replace(one.finding, witness=f"{one.nulls} gives {shown(result.rows[0])}"))
    return findings


# --- compared with NULL ------------------------------------------------------------------------------------------


def _compared(found: Resolution, dialect: Dialect) -> Iterator[Finding]:
    nodes = [node for node in found.tree.find_all(*COMPARISONS) if any(map(_is_null, _sides(node)))]
    nodes += [
        case
        for case in found.tree.find_all(exp.Case)
        if case.this is not None and any(_is_null(branch.this) for branch in case.args["ifs"])
    ]
    if not nodes:
        return
    tested = [
        (node, _test(node))
        for node in nodes
        if isinstance(node, (exp.EQ, exp.NEQ))
        and isinstance(node.parent, _HOLDS)
        and not all(map(_is_null, _sides(node)))
    ]
    mended = rewritten(found, tested, dialect) if len(tested) == len(nodes) else ""
    written = dict.fromkeys(sql_text(node, dialect) for node in nodes)
    yield Finding("null_compared", f"Never true: {' and '.join(written)}.", mended=mended)


def _sides(node: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    return node.this, node.expression


def _is_null(node: exp.Expr) -> bool:
    return isinstance(node.unnest(), exp.Null)


def _test(node: exp.Expr) -> exp.Expr:
    """IS NULL for `=`, and IS NOT NULL for `<>`."""
    value = next(side for side in _sides(node) if not _is_null(side)).copy()
    null = exp.Null()
    return exp.Is(this=value, expression=null if isinstance(node, exp.EQ) else exp.Not(this=null))


# --- not in a list with NULL -------------------------------------------------------------------------------------


def _written(found: Resolution, dialect: Dialect) -> Iterator[Finding]:
    for node in found.tree.find_all(exp.In):
        if any(map(_is_null, node.expressions)) and _excludes(node):
            listed = sql_text(exp.Not(this=node.copy()), dialect)
            yield Finding("null_in_list", f"No row passes {listed}: the list has a NULL.")


def _excludes(node: exp.In) -> bool:
    """Whether rows are to pass that are not in the list."""
    holder = around(node)
    return isinstance(holder, exp.Not) and holder.find_ancestor(exp.Not) is None


@dataclass(frozen=True)
class _List:
    """The subquery of a NOT IN: what says that it has a NULL, and the SQL that gives one."""

    finding: Finding
    nulls: str


def _lists(found: Resolution, profile: DatabaseProfile, dialect: Dialect) -> Iterator[_List]:
    for node in found.tree.find_all(exp.In):
        subquery = node.args.get("query")
        if subquery is None or not _excludes(node):
            continue
        query = subquery.unnest()
        if not _stands_alone(query, found):
            continue
        listed = sql_text(query, dialect)
        says = f"No row passes {sql_text(node.this, dialect)} NOT IN ({listed}): the list has a NULL."
        yield _List(
            Finding("null_in_list", says, mended=_without(node, query, found, profile, dialect)),
            _nulls(query, found.tree, dialect),
        )


def _stands_alone(query: exp.Expr, found: Resolution) -> bool:
    """Whether a subquery runs by itself, or with the WITH of the whole statement: it names nothing else of what is
    around it.
    """
    inner = {id(node) for node in query.find_all(exp.Select)}
    known = {id(source) for scope in found.scopes if id(scope.select) in inner for source in scope.sources}
    bound = [found.binding(column) for column in query.find_all(exp.Column)]
    own = all(one is None or one.source is None or id(one.source) in known for one in bound)
    top = {id(cte) for cte in _ctes(found.tree)}
    named = {folded(cte.alias) for cte in found.tree.find_all(exp.CTE) if id(cte) not in top}
    return own and not any(folded(table.name) in named for table in query.find_all(exp.Table))


def _ctes(query: exp.Expr) -> list[exp.Expr]:
    given = query.args.get("with_")
    return given.expressions if given is not None else []


def _nulls(query: exp.Expr, whole: exp.Expr, dialect: Dialect) -> str:
    """SQL for a row that makes a NULL of the list: of one table a whole row, else the NULL itself."""
    row = _with_null(query)
    names = {folded(cte.alias) for cte in _ctes(whole)}
    if any(folded(table.name) in names for table in query.find_all(exp.Table)):
        row.set("with_", whole.args["with_"].copy())
    return sql_text(row, dialect)


def _with_null(query: exp.Expr) -> exp.Select:
    place = _column(query)
    if place is not None:
        rows = query.copy()
        assert isinstance(rows, exp.Select)
        rows.set("expressions", [exp.Star()])
        rows.set("distinct", None)
        return rows.where(exp.Is(this=place.copy(), expression=exp.Null())).limit(1)
    named = query.copy()
    first = leftmost(named)
    first.set("expressions", [exp.alias_(first.expressions[0].unalias(), "listed", quoted=True)])
    listed = exp.column("listed", quoted=True)
    rows = exp.Subquery(this=named, alias=exp.to_identifier("list"))
    return exp.select(listed.copy()).from_(rows).where(exp.Is(this=listed, expression=exp.Null())).limit(1)


def _column(query: exp.Expr) -> exp.Expr | None:
    """The column that a plain SELECT lists, without groups and limits; None of any other query."""
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return None
    item = query.expressions[0].unalias()
    plain = not any(query.args.get(part) for part in ("group", "having", "limit", "offset", "qualify", "windows"))
    return item if plain and isinstance(item, exp.Column) and not item.is_star else None


def _without(node: exp.Expr, query: exp.Expr, found: Resolution, profile: DatabaseProfile, dialect: Dialect) -> str:
    """The statement with the list's NULLs left out, where no row that it is asked of is NULL itself: else NOT EXISTS
    would be another way, with another answer.
    """
    listed = _column(query)
    place = found.place(node.this)
    outer = any(join.side for join in found.tree.find_all(exp.Join))  # may make NULLs of their own
    if listed is None or place is None or outer or not profile.table(place[0]).never_null(place[1]):
        return ""
    known = query.copy()
    assert isinstance(known, exp.Select)
    test = exp.Is(this=listed.copy(), expression=exp.Not(this=exp.Null()))
    return rewritten(found, [(query, known.where(test))], dialect)
