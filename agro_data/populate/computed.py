"""Columns that a made table computes as its source does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp, parse_one

from agro_data.databases.quoting import folded
from agro_data.databases.types import Dialect
from agro_data.populate.schema import ColumnSpec
from agro_data.profiling.profile import ColumnProfile

_CARRYING = (exp.Paren, exp.Neg, exp.Abs, exp.Round, exp.Lower, exp.Upper, exp.Length, exp.Trim)


def with_formulas(
    specs: Sequence[ColumnSpec], columns: Sequence[ColumnProfile], drawn: Collection[str], dialect: Dialect
) -> tuple[ColumnSpec, ...]:
    """The columns of a table (`specs`, as they are if all are filled in) with the formulas that they have in `columns`.

    Columns that are `drawn` are filled in whatever the source does, as those of keys, and so are columns that follow
    from one that is not here, or computed itself, or held otherwise than in the source (a list as text).
    """
    plain = {folded(c.name): s for c, s in zip(columns, specs, strict=True) if not c.formula and _is_kept(c, s)}
    known = {name for name, spec in plain.items() if not spec.nullable}
    made: list[ColumnSpec] = []
    for column, spec in zip(columns, specs, strict=True):
        may = column.formula and column.name not in drawn and _is_kept(column, spec)
        formula = parse_one(column.formula, dialect=dialect) if may else None
        if formula is not None and {folded(c.name) for c in formula.find_all(exp.Column)} <= plain.keys():
            made.append(replace(spec, formula=column.formula, nullable=not _never_null(formula, known)))
        else:
            made.append(spec)
    return tuple(made)


def _is_kept(column: ColumnProfile, spec: ColumnSpec) -> bool:
    return spec.declared_type == column.declared_type.strip()


def _never_null(node: exp.Expr, known: Collection[str]) -> bool:
    """Whether a formula has a value in every row, if the columns that are `known` have one."""
    if isinstance(node, exp.Column):
        return folded(node.name) in known
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.DPipe)):
        return _never_null(node.this, known) and _never_null(node.expression, known)
    if isinstance(node, exp.Coalesce):
        return any(_never_null(part, known) for part in (node.this, *node.expressions))
    if isinstance(node, exp.Case):
        given = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default") or exp.Null()]
        return all(_never_null(part, known) for part in given)
    return isinstance(node, exp.Literal) or (isinstance(node, _CARRYING) and _never_null(node.this, known))
