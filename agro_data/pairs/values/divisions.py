"""Quotients of whole numbers, which SQLite cuts to whole numbers: 3 / 2 is 1, and most shares are 0.

Told where the answer is another with fractions. A number that is written out divides into units (minutes, decades), and
what is cast to a whole number is meant to be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import rewritten
from agro_data.pairs.values.sizes import same_answer
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.walks import around
from agro_data.verify.execution import execute


def check_divisions(database: Database, names: Mapping[str, Resolution], sandbox: Sandbox) -> dict[str, list[Finding]]:
    """Findings of each statement; of DuckDB none, whose quotients have fractions."""
    findings: dict[str, list[Finding]] = {sql: [] for sql in names}
    if database.dialect != "sqlite":
        return findings
    cut = {sql: list(_quotients(found.tree)) for sql, found in names.items()}
    offered = {sql: _with_fractions(names[sql], some, database) for sql, some in cut.items() if some}
    results = iter(execute([(database, text) for pair in offered.items() for text in pair], sandbox, "rows"))
    for sql, witness in offered.items():
        whole, real = next(results), next(results)
        if whole.ok and real.ok and not same_answer(whole.rows, real.rows, names[sql].ordered):
            shown = " and ".join(dict.fromkeys(sql_text(node, database.dialect) for node in cut[sql]))
            says = f"SQLite leaves out the fraction of {shown}, of whole numbers: with it the answer is another."
            findings[sql].append(Finding("integer_division", says, witness))
    return findings


def _quotients(tree: exp.Expr) -> Iterator[exp.Div]:
    for node in tree.find_all(exp.Div):
        holder = around(node)
        whole = isinstance(holder, exp.Cast) and holder.to.is_type(*exp.DataType.INTEGER_TYPES)
        if not whole and not any(side.find(exp.Column, exp.Count) is None for side in (node.this, node.expression)):
            yield node


def _with_fractions(found: Resolution, quotients: list[exp.Div], database: Database) -> str:
    """The statement with the numerators as reals; of quotients within others the outer ones, which hold for both."""
    outer = [node for node in quotients if not any(node.find_ancestor(exp.Div) is other for other in quotients)]
    return rewritten(found, [(node.this, exp.cast(node.this.copy(), "REAL")) for node in outer], database.dialect)
