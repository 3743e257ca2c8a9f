"""What compares two values: by the class of its node, by its sign, and turned round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlglot import exp

Sign = Literal["=", "!=", "<", "<=", ">", ">="]

BY_SIGN: Mapping[Sign, type[exp.Binary]] = {
    "=": exp.EQ, "!=": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE,
}  # fmt: skip
SIGNS: Mapping[type[exp.Expr], Sign] = {kind: sign for sign, kind in BY_SIGN.items()}
COMPARISONS: tuple[type[exp.Expr], ...] = tuple(BY_SIGN.values())
TESTS: tuple[type[exp.Expr], ...] = (*COMPARISONS, exp.Is, exp.Like, exp.ILike, exp.Between, exp.In)
"""Comparisons and all else that tests one value."""

TURNED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
"""`a < b` is `b > a`."""
