"""Is the comparison fair? Rewrites of golds that mean the same are run and must be called the same.

python -m bench.rewrites ../shared/data/spider/train.json --databases ../shared/data/spider/database

Each rewrite is one that a person could have written instead: joins in another order, a comma for JOIN, IN for EXISTS
and for a join on a key, a derived table for a table, a CTE, other aliases, De Morgan, BETWEEN, comparisons turned
round, one list for several equalities. Gold and rewrite run on the gold's own database and are compared under
`strict`. What is called wrong is printed, with whether the gold's own answer was open to chance.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from agro_data.databases.catalog import find_databases
from agro_data.databases.opening import folded
from agro_data.databases.sandbox import Sandbox
from agro_data.databases.types import Limits
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.canonical import sql_text
from agro_data.sql.parse import parse_select
from agro_data.sql.scope import Resolution, Scope, resolve
from agro_data.verify.equivalence import strict
from agro_data.verify.ties import chance_in, probes_of

GOAL = 0.003  # share of rewrites that may be called wrong
_TURNED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
}
_NEGATED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.GT: exp.LTE,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.LTE: exp.GT,
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
}


@dataclass(frozen=True)
class Rewrite:
    """Another way to write a gold."""

    kind: str
    sql: str


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--databases", type=Path, required=True)
    arguments = parser.parse_args()
    asked = json.loads(arguments.questions.read_text(encoding="utf-8"))
    golds = sorted({(str(row["db_id"]), str(row["query"])) for row in asked})
    print(json.dumps(measure(golds, arguments.databases), indent=1))


def measure(golds: list[tuple[str, str]], databases: Path) -> dict[str, Any]:
    """Figures of all rewrites of all golds, and those called wrong."""
    found = {database.db_id: database for database in find_databases(databases).databases}
    kinds: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as cache, Sandbox(workers=2, limits=Limits(seconds=20.0)) as sandbox:
        profiles = {d: cached_profile(found[d], Path(cache)) for d in sorted({d for d, _ in golds})}
        work = [(db_id, gold, rewrite) for db_id, gold in golds for rewrite in rewrites_of(gold, profiles[db_id])]
        answers = dict(zip(golds, sandbox.run_many([(found[d], gold) for d, gold in golds], want="rows"), strict=True))
        others = sandbox.run_many([(found[d], rewrite.sql) for d, _, rewrite in work], want="rows")
        failed: Counter[str] = Counter()
        for (db_id, gold, rewrite), other in zip(work, others, strict=True):
            answer = answers[db_id, gold]
            if not answer.ok:
                failed["gold_failed"] += 1
                continue
            if not other.ok:
                failed[f"{rewrite.kind}: {other.status} {other.error[:60]}"] += 1
                continue
            kinds[rewrite.kind] += 1
            tree = resolve(parse_select(gold, "sqlite"), "sqlite", profiles[db_id].schema)
            compared = strict(answer.rows, other.rows, ordered=tree.tree.args.get("order") is not None)
            if not compared.equal:
                chance = chance_in(tree) is not None
                probes = probes_of(tree, "sqlite")
                results = sandbox.run_many([(found[db_id], probe.sql) for probe in probes], want="rows")
                chance = chance or any(r.ok and p.judge(r.rows) for p, r in zip(probes, results, strict=True))
                wrong.append(
                    {"db_id": db_id, "kind": rewrite.kind, "why": compared.reason, "chance": chance,
                     "gold": " ".join(gold.split()), "rewrite": rewrite.sql}
                )  # fmt: skip
    total = sum(kinds.values())
    return {
        "golds": len(golds),
        "rewrites": total,
        "kinds": dict(kinds.most_common()),
        "not_run": dict(failed.most_common()),
        "called_wrong": len(wrong),
        "share": round(len(wrong) / max(total, 1), 5),
        "goal": GOAL,
        "open_to_chance": sum(bool(one["chance"]) for one in wrong),
        "share_without_chance": round(sum(not one["chance"] for one in wrong) / max(total, 1), 5),
        "wrong": wrong,
    }


def rewrites_of(sql: str, profile: DatabaseProfile) -> list[Rewrite]:
    """All rewrites of a gold, each with one thing written another way; none is the gold's own text."""
    own = sql_text(parse_select(sql, profile.dialect), profile.dialect)
    found: dict[str, Rewrite] = {}
    for kind, tree in _rewritten(sql, profile):
        text = sql_text(tree, profile.dialect)
        if text != own:
            found.setdefault(text, Rewrite(kind, text))
    return list(found.values())


def _rewritten(sql: str, profile: DatabaseProfile) -> Iterator[tuple[str, exp.Expr]]:
    def fresh() -> Resolution:
        return resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)

    for kind, rewrite in (
        ("turned comparisons", _turned),
        ("aliases", _aliases),
        ("De Morgan", _de_morgan),
        ("BETWEEN unfolded", _between),
        ("comma join", _comma),
        ("join order", _join_order),
        ("derived table", _derived),
        ("CTE", _cte),
        ("conditions in other order", _conditions),
    ):
        found = fresh()
        if rewrite(found):
            yield kind, found.tree
    for number in range(len(fresh().scopes)):
        for kind, test in (("IN as EXISTS", _in_as_exists), ("IN as JOIN on a key", _in_as_join)):
            found = fresh()
            if test(found, found.scopes[number], profile):
                yield kind, found.tree


def _turned(found: Resolution) -> bool:
    """`a > 3` as `3 < a`."""
    done = False
    for node in list(found.tree.find_all(*_TURNED)):
        if type(node) in _TURNED and isinstance(node, exp.Binary):
            node.replace(_TURNED[type(node)](this=node.right.copy(), expression=node.left.copy()))
            done = True
    return done


def _aliases(found: Resolution) -> bool:
    """Every table called otherwise, every column qualified."""
    names: dict[int, str] = {}
    for scope in found.scopes:
        for source in scope.sources:
            if not isinstance(source.node, exp.Table) or scope.merged:
                return False
            names[id(source)] = f"a{len(names)}"
    if not names or any(item.is_star for scope in found.scopes for item in scope.select.expressions):
        return False
    for column in list(found.tree.find_all(exp.Column)):
        binding = found.binding(column)
        if binding is not None and binding.kind == "column" and binding.source is not None:
            column.set("table", exp.to_identifier(names[id(binding.source)]))
    for scope in found.scopes:
        for source in scope.sources:
            source.node.set("alias", exp.TableAlias(this=exp.to_identifier(names[id(source)])))
    return True


def _de_morgan(found: Resolution) -> bool:
    """`a AND b` as `NOT (NOT a OR NOT b)`, in WHERE."""
    done = False
    for scope in found.scopes:
        where = scope.select.args.get("where")
        if where is None or not isinstance(where.this, (exp.And, exp.Or)):
            continue
        node = where.this
        other = exp.Or if isinstance(node, exp.And) else exp.And
        sides = [_not(side) for side in (node.this, node.expression)]
        where.set("this", exp.Not(this=exp.Paren(this=other(this=sides[0], expression=sides[1]))))
        done = True
    return done


def _not(node: exp.Expr) -> exp.Expr:
    bare = node.unnest()
    if type(bare) in _NEGATED and isinstance(bare, exp.Binary):
        return _NEGATED[type(bare)](this=bare.left.copy(), expression=bare.right.copy())
    return exp.Not(this=exp.Paren(this=bare.copy()))


def _between(found: Resolution) -> bool:
    done = False
    for node in list(found.tree.find_all(exp.Between)):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
        node.replace(exp.Paren(this=exp.And(this=low, expression=high)))
        done = True
    return done


def _comma(found: Resolution) -> bool:
    """`a JOIN b ON c WHERE d` as `a, b WHERE c AND d`."""
    done = False
    for scope in found.scopes:
        joins = scope.select.args.get("joins") or []
        if not joins or any(j.side or j.method or j.args.get("using") or j.args.get("on") is None for j in joins):
            continue
        conditions = [join.args["on"].copy() for join in joins]
        where = scope.select.args.get("where")
        conditions += [where.this.copy()] if where is not None else []
        whole = exp.paren(conditions[0]) if isinstance(conditions[0], exp.Or) else conditions[0]
        for condition in conditions[1:]:
            whole = exp.And(this=whole, expression=exp.paren(condition) if isinstance(condition, exp.Or) else condition)
        scope.select.set("joins", [exp.Join(this=join.this.copy(), kind="CROSS") for join in joins])
        scope.select.set("where", exp.Where(this=whole))
        done = True
    return done


def _join_order(found: Resolution) -> bool:
    """The last table first."""
    done = False
    for scope in found.scopes:
        select = scope.select
        joins = select.args.get("joins") or []
        if not joins or any(j.side or j.method or j.args.get("using") or j.args.get("on") is None for j in joins):
            continue
        if any(item.is_star for item in select.expressions):
            continue
        tables = [select.args["from_"].this.copy(), *(join.this.copy() for join in joins)]
        conditions = [join.args["on"].copy() for join in joins]
        whole = conditions[0]
        for condition in conditions[1:]:
            whole = exp.And(this=whole, expression=condition)
        tables.reverse()
        select.args["from_"].set("this", tables[0])
        rest = [exp.Join(this=table, kind="CROSS") for table in tables[1:-1]]
        select.set("joins", [*rest, exp.Join(this=tables[-1], on=whole)])
        done = True
    return done


def _conditions(found: Resolution) -> bool:
    """The sides of AND and OR exchanged."""
    nodes = list(found.tree.find_all(exp.And, exp.Or))
    for node in nodes:
        left, right = node.this, node.expression
        if isinstance(left, exp.Or) or isinstance(right, exp.Or) or type(right) is type(node):
            continue
        first = exp.paren(left) if isinstance(left, exp.Connector) else left.copy()
        node.set("this", right.copy())
        node.set("expression", first)
    return bool(nodes)


def _derived(found: Resolution) -> bool:
    """A table as `(SELECT * FROM table)`."""
    done = False
    for scope in found.scopes:
        for source in scope.sources:
            if source.table and isinstance(source.node, exp.Table):
                inner = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.to_table(source.table)))
                alias = exp.TableAlias(this=exp.to_identifier(source.node.alias_or_name))
                source.node.replace(exp.Subquery(this=inner, alias=alias))
                done = True
    return done


def _cte(found: Resolution) -> bool:
    """The first table read through a CTE."""
    source = next((s for scope in found.scopes for s in scope.sources if s.table), None)
    if source is None or found.tree.args.get("with_") is not None or not isinstance(source.node, exp.Table):
        return False
    inner = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.to_table(source.table)))
    cte = exp.CTE(this=inner, alias=exp.TableAlias(this=exp.to_identifier("the_rows")))
    alias = exp.TableAlias(this=exp.to_identifier(source.node.alias_or_name))
    source.node.replace(exp.Table(this=exp.to_identifier("the_rows"), alias=alias))
    found.tree.set("with_", exp.With(expressions=[cte]))
    return True


def _membership(found: Resolution, scope: Scope) -> tuple[exp.In, exp.Select, Scope] | None:
    """A conjunct `column IN (SELECT column FROM one table [WHERE ...])` of WHERE, not negated."""
    where = scope.select.args.get("where")
    parts = list(where.this.flatten()) if where is not None and isinstance(where.this, exp.And) else []
    for node in parts or ([where.this] if where is not None else []):
        query = node.args.get("query") if isinstance(node, exp.In) else None
        inner = query.unnest() if query is not None else None
        if isinstance(node, exp.In) and isinstance(inner, exp.Select) and isinstance(node.this, exp.Column):
            plain = not any(inner.args.get(n) for n in ("group", "having", "limit", "order", "distinct", "joins"))
            own = found.scope_of(inner)
            simple = len(own.sources) == 1 and own.sources[0].table and isinstance(inner.selects[0], exp.Column)
            if plain and simple and not own.correlated:
                return node, inner, own
    return None


def _qualify(found: Resolution, scope: Scope, name: str) -> None:
    """Every column of a scope's one source qualified by `name`, which becomes the source's alias."""
    source = scope.sources[0]
    for column in list(found.tree.find_all(exp.Column)):
        binding = found.binding(column)
        if binding is not None and binding.source is source:
            column.set("table", exp.to_identifier(name))
    source.node.set("alias", exp.TableAlias(this=exp.to_identifier(name)))


def _in_as_exists(found: Resolution, scope: Scope, profile: DatabaseProfile) -> bool:
    member = _membership(found, scope)
    outer = found.binding(member[0].this) if member is not None else None
    if member is None or outer is None or outer.source is None or not isinstance(outer.source.node, exp.Table):
        return False
    node, inner, own = member
    _qualify(found, own, "inside")
    link = exp.EQ(this=inner.selects[0].copy(), expression=node.this.copy())
    link.expression.set("table", exp.to_identifier(outer.source.node.alias_or_name))
    where = inner.args.get("where")
    condition: exp.Expr = link
    if where is not None:
        condition = exp.And(this=link, expression=exp.paren(where.this))
    inner.set("where", exp.Where(this=condition))
    inner.set("expressions", [exp.Literal.number(1)])
    node.replace(exp.Exists(this=inner.copy()))
    return True


def _in_as_join(found: Resolution, scope: Scope, profile: DatabaseProfile) -> bool:
    """Only where the inner column is a key by itself, so that no row is repeated."""
    member = _membership(found, scope)
    select = scope.select
    if member is None or select.args.get("joins") or len(scope.sources) != 1 or not scope.sources[0].table:
        return False
    node, inner, own = member
    if any(item.is_star for item in select.expressions):
        return False
    table, column = profile.table(own.sources[0].table), found.binding(inner.selects[0])
    keys = {tuple(folded(name) for name in key) for key in (table.primary_key, *table.unique_keys)}
    if column is None or (column.name,) not in keys:
        return False
    _qualify(found, own, "inside")
    _qualify(found, scope, "outside")
    on: exp.Expr = exp.EQ(this=node.this.copy(), expression=inner.selects[0].copy())
    theirs = inner.args.get("where")
    if theirs is not None:
        on = exp.And(this=on, expression=exp.paren(theirs.this))
    where = select.args["where"]
    if where.this is node:
        select.set("where", None)
    else:
        rest = [part.copy() for part in where.this.flatten() if part is not node]
        whole = rest[0]
        for part in rest[1:]:
            whole = exp.And(this=whole, expression=part)
        select.set("where", exp.Where(this=whole))
    select.set("joins", [exp.Join(this=own.sources[0].node.copy(), on=on)])
    return True


if __name__ == "__main__":
    main()
