"""Variations of SQL that no intent says, by rewriting its tree: the kinds of `variations`, one level below.

What comes out is a query of its own: it passes the gate like any other, and its question is written for what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from sqlglot import exp
from sqlglot.optimizer.eliminate_subqueries import eliminate_subqueries

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.intent.sampling.atlas import Atlas
from agro_data.prompts.vary_query import Kind
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.identifiers import identifier
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.synthesis.literals import redrawn
from agro_data.synthesis.read_back.spelled_out import in_their_places
from agro_data.verify.informative import drop_variants
from agro_data.verify.mutants import mutants_of

LOGIC = frozenset({"aggregate", "count", "comparison", "column", "extreme", "order", "arithmetic", "negation"})


def rewritten(sql: str, kind: Kind, atlas: Atlas, rng: Random) -> Iterator[str]:
    """Variations of one kind of a SELECT on the database of `atlas`; none where the kind does not apply.

    Raises `SqlRefused` for what is no query.
    """
    profile = atlas.profile
    if kind == "values":
        drawn = redrawn(sql, atlas, rng)
        yield from () if drawn is None or drawn == sql else (drawn,)
        return
    found = resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)
    if kind == "logic":
        made = [mutant.sql for mutant in mutants_of(found, profile.dialect, profile.schema) if mutant.kind in LOGIC]
        rng.shuffle(made)
        yield from made
        return
    seen = {sql, sql_text(found.tree, profile.dialect)}
    for made_sql in _MAKERS[kind](found, profile.dialect):
        if made_sql not in seen:
            seen.add(made_sql)
            yield made_sql


def _simpler(found: Resolution, dialect: Dialect) -> Iterator[str]:
    """Without one of its conditions, or without what comes after the rows are known."""
    yield from (variant.sql for variant in drop_variants(found, dialect))
    bare = found.tree.copy()
    if bare.args.get("limit") is not None:
        bare.set("limit", None)
        yield sql_text(bare, dialect)


def _structured(found: Resolution, dialect: Dialect) -> Iterator[str]:
    """Queries in FROM by name before the query, named ones in their place, BETWEEN as two bounds."""
    yield sql_text(eliminate_subqueries(found.tree.copy()), dialect)
    inlined = in_their_places(found.tree.copy())
    if inlined is not None:
        yield sql_text(inlined, dialect)
    bounds = found.tree.copy()
    for node in list(bounds.find_all(exp.Between)):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        node.replace(exp.paren(exp.and_(low, high, copy=False)))
    yield sql_text(bounds, dialect)


def _cheaper(found: Resolution, dialect: Dialect) -> Iterator[str]:
    """A choice among values as one list; a count of rows that is compared with 0 as EXISTS; no order inside."""
    tree = found.tree.copy()
    for node in list(tree.find_all(exp.Or)):
        sides = [side.unnest() for side in node.flatten()]
        tests = [side for side in sides if isinstance(side, exp.EQ) and isinstance(side.right, exp.Literal)]
        if len(tests) == len(sides) and len({side.left for side in tests}) == 1:
            values = [side.right.copy() for side in tests]
            node.replace(exp.In(this=tests[0].left.copy(), expressions=values))
    for test in list(tree.find_all(exp.GT)):
        inner = test.this.unnest()
        counted = inner.expressions[0].unalias() if isinstance(inner, exp.Select) else None
        counts = isinstance(counted, exp.Count) and isinstance(counted.this, exp.Star)  # of a column: those known
        plain = counts and not any(inner.args.get(clause) for clause in ("group", "having", "limit"))
        if plain and isinstance(test.expression, exp.Literal) and test.expression.name == "0":
            probe = inner.copy()
            probe.set("expressions", [exp.Literal.number(1)])
            test.replace(exp.Exists(this=probe))
    for select in tree.find_all(exp.Select):
        within = isinstance(select.parent, (exp.Subquery, exp.Exists, exp.In)) and select.args.get("limit") is None
        if within and select.args.get("order") is not None:
            select.set("order", None)
    yield sql_text(tree, dialect)


def _advanced(found: Resolution, dialect: Dialect) -> Iterator[str]:
    """Figures of groups against their average over all groups; rows with their rank by a figure that is shown."""
    tree = found.tree
    if not isinstance(tree, exp.Select) or tree.args.get("with_") is not None:
        return
    figures = [place for place, item in enumerate(tree.expressions) if is_aggregate(item.unalias())]
    if not figures or tree.args.get("group") is None:
        return
    inner = tree.copy()
    for name in ("order", "limit", "having"):
        inner.set(name, None)
    names = [item.alias_or_name or f"value_{place}" for place, item in enumerate(inner.expressions, 1)]
    names[figures[0]] = "figure"
    if len({folded(name) for name in names}) < len(names):
        return
    items = [exp.alias_(item.unalias(), identifier(name)) for item, name in zip(inner.expressions, names, strict=True)]
    inner.set("expressions", items)
    held = sql_text(inner, dialect)
    listed = ", ".join(sql_text(exp.column(name), dialect, quote=True) for name in names)
    group = f"WITH per_group AS ({held}) SELECT {listed}"
    yield f"{group} FROM per_group WHERE figure > (SELECT AVG(figure) FROM per_group)"
    yield f"{group}, RANK() OVER (ORDER BY figure DESC) AS place FROM per_group"


_MAKERS: dict[Kind, Callable[[Resolution, Dialect], Iterator[str]]] = {
    "structure": _structured,
    "complexity": _simpler,
    "advanced": _advanced,
    "performance": _cheaper,
}
