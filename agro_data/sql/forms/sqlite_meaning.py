"""What sqlglot reads and writes otherwise than SQLite means it, put right: the types of CAST, and MOD.

sqlglot writes `CAST(x AS DATE)` as `DATE(x)`, `CAST(x AS DECIMAL)` as a REAL and `MOD(a, b)` as `a % b`, which are
other queries. SQLite casts by the affinity of a type's name alone: a type is read as that, before it is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from sqlglot import Token, TokenType, exp

Affinity = Literal["INTEGER", "TEXT", "BLOB", "REAL", "NUMERIC"]

_TOKEN_OF: dict[Affinity, TokenType] = {
    "INTEGER": TokenType.INT,
    "TEXT": TokenType.TEXT,
    "BLOB": TokenType.VARBINARY,
    "REAL": TokenType.FLOAT,
    "NUMERIC": TokenType.DECIMAL,
}
_PARTS: tuple[tuple[Affinity, tuple[str, ...]], ...] = (
    ("INTEGER", ("INT",)),
    ("TEXT", ("CHAR", "CLOB", "TEXT")),
    ("BLOB", ("BLOB",)),
    ("REAL", ("REAL", "FLOA", "DOUB")),
)
MISREAD = re.compile("cast|mod", re.IGNORECASE)  # a statement without them is read as it is meant
_MOD = "mod function"  # no name of a function that sqlglot knows


def affinity(declared: str) -> Affinity:
    """SQLite's affinity of a declared type (https://sqlite.org/datatype3.html, 3.1)."""
    name = declared.upper()
    if not name:
        return "BLOB"
    return next((kind for kind, parts in _PARTS if any(part in name for part in parts)), "NUMERIC")


def as_meant(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a statement with each type of a CAST as its affinity, and MOD under a name of its own."""
    dropped: set[int] = set()
    for place, end in _types(tokens):
        kind = affinity(" ".join(token.text for token in tokens[place:end]))
        tokens[place].token_type, tokens[place].text = _TOKEN_OF[kind], kind
        dropped |= set(range(place + 1, end))
    for token, following in pairwise(tokens):
        if token.token_type == TokenType.VAR and token.text.upper() == "MOD" and following.text == "(":
            token.text = _MOD
    return [token for place, token in enumerate(tokens) if place not in dropped]


def put_right(tree: exp.Expr) -> exp.Expr:
    """The tree of tokens `as_meant`, so that it is written as it was meant, too. Changes it in place."""
    for node in tree.find_all(exp.Cast, exp.Anonymous):
        if isinstance(node, exp.Anonymous) and node.name == _MOD:
            node.set("this", "MOD")
        elif isinstance(node, exp.Cast) and node.to.is_type(exp.DataType.Type.DECIMAL):
            node.set("to", exp.DataType(this=exp.DataType.Type.USERDEFINED, kind="NUMERIC"))
    return tree


def _types(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Where the type of each CAST stands: from its first token to behind its last."""
    opened: list[tuple[bool, int]] = []  # brackets: whether of a CAST, and where the last AS stands in them
    before = ""
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            opened.append((before == "CAST", 0))
        elif token.token_type == TokenType.R_PAREN and opened:
            cast, start = opened.pop()
            if cast and start and start + 1 < place:
                yield start + 1, place
        elif token.token_type == TokenType.ALIAS and opened:
            opened[-1] = (opened[-1][0], place)
        before = token.text.upper()
