"""Is the comparison fair? Rewrites of golds that mean the same are run and must be called the same.

python -m bench.rewrites ../shared/data/spider/train.json --databases ../shared/data/spider/database

Each rewrite is one that a person could have written instead: joins in another order, a comma for JOIN, EXISTS for IN,
IN and EXISTS for a join on a key and back, a derived table for a table, a CTE made and inlined, other aliases,
De Morgan, BETWEEN, comparisons turned round, one list for several equalities. Gold and rewrite run on the gold's own
database and are compared under `strict`.

A gold whose own answer is open to chance there (a tie, as `verify.chance` finds it) says nothing of the comparison:
the headline is what is called wrong of the others; the raw share of all stands beside it. The others are judged, too:
without their outermost LIMIT, and with the order keys shown, gold and rewrite must give the same rows. What is called
wrong is printed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from sqlglot import exp

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Dialect, Limits
from agro_data.profiling.cache import cached_profile
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.comparisons import COMPARISONS, TURNED
from agro_data.sql.conditions import joined
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.verify.equivalence import strict
from bench.parts.chance import by_chance
from bench.parts.memberships import in_as_exists, in_as_join, join_as_exists, join_as_in, subquery_as_cte

GOAL = 0.003  # share of rewrites that may be called wrong
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
    parser.add_argument("--golds", type=int, default=0, help="only so many golds, drawn by a seed (0: all)")
    arguments = parser.parse_args()
    asked = json.loads(arguments.questions.read_text(encoding="utf-8"))
    golds = sorted({(str(row["db_id"]), str(row["query"])) for row in asked})
    if arguments.golds:
        golds = sorted(Random(0).sample(golds, min(arguments.golds, len(golds))))
    print(json.dumps(measure(golds, arguments.databases), indent=1))


def measure(golds: list[tuple[str, str]], databases: Path) -> dict[str, Any]:
    """Figures of all rewrites of all golds, and those called wrong."""
    found = {database.db_id: database for database in find_databases(databases).databases}
    kinds: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    settled = 0
    with tempfile.TemporaryDirectory() as cache, Sandbox(workers=2, limits=Limits(seconds=20.0)) as sandbox:
        profiles = {d: cached_profile(found[d], Path(cache)) for d in sorted({d for d, _ in golds})}
        work = [(db_id, gold, rewrite) for db_id, gold in golds for rewrite in rewrites_of(gold, profiles[db_id])]
        answers = dict(zip(golds, sandbox.run_many([(found[d], gold) for d, gold in golds], want="rows"), strict=True))
        others = sandbox.run_many([(found[d], rewrite.sql) for d, _, rewrite in work], want="rows")
        trees = {
            (d, gold): resolve(parse_select(gold, profiles[d].dialect), profiles[d].dialect, profiles[d].schema)
            for d, gold in golds
        }
        probed = {one: by_chance(trees[one], found[one[0]], sandbox) for one in golds}
        chance = {one for one in golds if probed[one]}  # where a probe failed, what differs counts against us
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
            settled += (db_id, gold) not in chance
            ordered = trees[db_id, gold].tree.args.get("order") is not None
            compared = strict(answer.rows, other.rows, ordered=ordered)
            if not compared.equal:
                wrong.append(
                    {"db_id": db_id, "kind": rewrite.kind, "why": compared.reason,
                     "chance": (db_id, gold) in chance,
                     "tie_alone": _tie_alone(found[db_id], gold, rewrite.sql, sandbox),
                     "gold": " ".join(gold.split()), "rewrite": rewrite.sql}
                )  # fmt: skip
    total = sum(kinds.values())
    certain = [one for one in wrong if not one["chance"]]
    return {
        "called_wrong_of_those_not_open_to_chance": f"{len(certain)} of {settled}",
        "share_not_open_to_chance": round(len(certain) / max(settled, 1), 5),
        "called_wrong_of_all": f"{len(wrong)} of {total}",
        "share_of_all": round(len(wrong) / max(total, 1), 5),
        "goal": GOAL,
        "of_those_open_to_chance_shown_to_differ_by_a_tie_alone": sum(
            bool(one["chance"] and one["tie_alone"]) for one in wrong
        ),
        "golds": len(golds),
        "golds_open_to_chance": len(chance),
        "golds_of_which_a_probe_failed": sum(one is None for one in probed.values()),
        "kinds": dict(kinds.most_common()),
        "not_run": dict(failed.most_common()),
        "wrong": wrong,
    }


def _tie_alone(database: Database, gold: str, other: str, sandbox: Sandbox) -> bool:
    """Whether two queries give the same rows with their order keys once the outermost LIMIT is taken away.

    Then only the choice among rows of equal keys tells them apart.
    """
    whole = [(database, _with_keys(sql, database.dialect)) for sql in (gold, other)]
    first, second = sandbox.run_many(whole, want="rows")
    return first.ok and second.ok and strict(first.rows, second.rows, ordered=False).equal


def _with_keys(sql: str, dialect: Dialect) -> str:
    tree = parse_select(sql, dialect)
    order = tree.args.get("order")
    if isinstance(tree, exp.Select) and order is not None and tree.args.get("distinct") is None:
        tree.set("expressions", [*tree.expressions, *(key.this.copy() for key in order.expressions)])
        tree.set("limit", None)
    return sql_text(tree, dialect)


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
        for kind, test in (
            ("IN as EXISTS", in_as_exists),
            ("IN as JOIN on a key", in_as_join),
            ("JOIN on a key as IN", join_as_in),
            ("JOIN on a key as EXISTS", join_as_exists),
            ("subquery as CTE", subquery_as_cte),
        ):
            found = fresh()
            if test(found, found.scopes[number], profile):
                yield kind, found.tree
                inlined = _inlined(sql_text(found.tree, profile.dialect), profile)
                if kind == "subquery as CTE" and inlined is not None:
                    yield "CTE inlined", inlined


def _inlined(sql: str, profile: DatabaseProfile) -> exp.Expr | None:
    """A query whose CTEs stand as derived tables where they are read."""
    tree = parse_select(sql, profile.dialect)
    clause = tree.args.get("with_")
    if clause is None:
        return None
    for cte in clause.expressions:
        for table in [t for t in tree.find_all(exp.Table) if t.name == cte.alias]:
            alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name))
            table.replace(exp.Subquery(this=cte.this.copy(), alias=alias))
    tree.set("with_", None)
    return tree


def _turned(found: Resolution) -> bool:
    """`a > 3` as `3 < a`."""
    done = False
    for node in list(found.tree.find_all(*COMPARISONS)):
        if type(node) in TURNED and isinstance(node, exp.Binary):
            node.replace(TURNED[type(node)](this=node.right.copy(), expression=node.left.copy()))
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
        where = scope.select.args.get("where")
        conditions = [*(join.args["on"] for join in joins), *([where.this] if where is not None else [])]
        scope.select.set("joins", [exp.Join(this=join.this.copy(), kind="CROSS") for join in joins])
        scope.select.set("where", exp.Where(this=joined(conditions)))
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
        whole = joined(join.args["on"] for join in joins)
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


if __name__ == "__main__":
    main()
