"""Cheap normal forms of SQL and question text, read token by token without parsing.

Splits, exact duplicates and decontamination compare hundreds of thousands of texts; a regular expression
does so in microseconds, and treats both sides alike, whatever their dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)
      | (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")*"|`[^`]*`|\[[^\]'"]*[A-Za-z_][^\]'"]*\])
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<word>[^\W\d][\w$]*)
      | (?P<symbol><>|!=|<=|>=|==|\|\||::|[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
# With the sign of a number ("-5", and not "2020-01-05") and what ends a mark or a name ("A+", "A-", "C#").
_WORD = re.compile(r"(?<![\w)-])-\.?\d\w*|\w+(?:[+#]+(?!\w)|-(?![\w\s-]))?")
_BEFORE_SIGN = frozenset(
    [
        "(",
        ",",
        "=",
        "==",
        "<",
        ">",
        "<=",
        ">=",
        "<>",
        "!=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "and",
        "or",
        "not",
        "in",
        "between",
        "then",
        "else",
        "when",
        "select",
        "like",
        "by",
        "limit",
        "offset",
    ]
)


def tokens(sql: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of each token; kinds are text, quoted, number, word and symbol. Comments are left out."""
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or ""
        if kind != "comment":
            yield kind, match.group()


def literals(sql: str, *, limits: bool = True) -> tuple[str, ...]:
    """Literals of `sql` in order, text without its quotes, numbers with their sign.

    `limits` False leaves out the numbers of LIMIT and OFFSET, which are no values of the data.
    """
    found: list[str] = []
    before, sign = "(", ""
    for kind, text in tokens(sql):
        word = text.lower()
        if kind == "text":
            found.append(text[1:-1].replace("''", "'"))
        elif kind == "number" and (limits or before not in {"limit", "offset"}):
            found.append(sign + text)
        elif kind == "word" and word in {"true", "false"}:
            found.append(word)
        sign = "-" if text == "-" and before in _BEFORE_SIGN else ""
        before = word
    return tuple(found)


def normal_question(question: str) -> str:
    """The words of a question, lower case, with the signs of values: what makes two questions the same."""
    return " ".join(_WORD.findall(question.lower()))


def normal_sql(sql: str) -> tuple[str, ...]:
    """Tokens of `sql` in lower case, without quotes, table aliases, final semicolon or output names.

    `SELECT T1.Name FROM singer AS T1` and `select "name" from singer` give the same tuple.
    """
    plain: list[str] = []
    for kind, text in tokens(sql):
        if kind in {"text", "quoted"}:
            plain.append(text[1:-1].replace("''", "'").lower())
        else:
            plain.append({"<>": "!=", "==": "="}.get(text, text.lower()))
    kept: list[str] = []
    i = 0
    while i < len(plain):
        following = plain[i + 1] if i + 2 <= len(plain) - 1 or (plain[i] == "as" and i + 1 < len(plain)) else "("
        if following == "." or (plain[i] == "as" and following != "("):
            i += 2
        else:
            kept.append(plain[i])
            i += 1
    while kept and kept[-1] == ";":
        kept.pop()
    return tuple(kept)
