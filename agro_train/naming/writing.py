"""What may be written next in a turn, where a restriction on its SQL holds: text in, yes or no out.

Tokens of a model end anywhere, so that the last word of a text may go on. `Written` keeps the query up to that word as
it was read (`partial_query`), and asks of each further piece whether it leaves something that can still be finished.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from agro_train.naming.levels import Names
from agro_train.naming.links import may_link
from agro_train.naming.partial_query import PartialQuery
from agro_train.naming.partial_words import may_begin
from agro_train.naming.scopes import DIGITS, Scopes

_OPENED = re.compile(r"<(sql|solution)>")
_THOUGHT = re.compile(r"<think>(.*?)(</think>|\Z)", re.DOTALL)
_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<string>'(?:[^']|'')*'(?!'))
  | (?P<quoted>"(?:[^"]|"")*"(?!")|`[^`]*`)
  | (?P<bracketed>\[[^\]]*\])
  | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<sign><=|>=|<>|!=|==|\|\||<<|>>|::|//|->>|->|[-+*/%&|<>=~.,;:(){}\[\]])
    """,
    re.VERBOSE,
)
_ENDED = frozenset(".,;()*+%~{}")  # signs that nothing can be added to
_WHOLE = {"!": "!=", "|": "||", ":": "::"}  # signs that are the beginning of one only
PARTIAL = "\ufffd"  # what a tokenizer makes of bytes that are no whole character yet
_EXPONENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)[eE][+-]?")


class Restriction(Protocol):
    """What one turn may say. `active`: whether it holds where the turn stands; elsewhere it need not be asked."""

    @property
    def active(self) -> bool: ...

    def allows(self, piece: str) -> bool:
        """Whether the turn may go on with `piece`."""
        ...

    def go_on(self, text: str) -> None:
        """The turn's text is now `text`, which begins as it did before."""
        ...

    def copy(self) -> Restriction:
        """One that goes on by itself."""
        ...


@dataclass(frozen=True)
class Written:
    """SQL so far: what is read of it, and the text behind that, which may go on."""

    query: PartialQuery
    tail: str = ""
    closing: str = ""  # the tag that ends the query
    ended: bool = False

    def then(self, piece: str) -> Written | None:
        """The SQL with `piece` behind it; None where that cannot become a query with names of the schema."""
        if self.ended:
            return self
        query, text, place = self.query, self.tail + piece, 0
        sqlite = query.scopes.names.dialect == "sqlite"
        for kind, token, end in _tokens(text, sqlite):
            if _waits(kind, token, text[place:], behind_word=bool(query.top.word)):
                break
            if text.startswith(("--", "/*"), place) or (kind == "number" and text[end : end + 1].isidentifier()):
                return None
            if kind == "number" and len(token) > DIGITS:
                return None
            if kind != "space":
                query = query.copy() if query is self.query else query
                if not query.take(kind, token):
                    return None
            place = end
        rest = text[place:]
        return self._going_on(query, rest) if rest else replace(self, query=query, tail="")

    def _going_on(self, query: PartialQuery, rest: str) -> Written | None:
        """With `rest` as the text that is not read yet: one token at most, or the beginning of one."""
        ends = f"</{self.closing}>"
        if rest.startswith(ends):
            return replace(self, query=query, tail=rest, ended=True) if query.complete() else None
        if ends.startswith(rest) and len(rest) > 1:
            return replace(self, query=query, tail=rest) if query.complete() else None
        return replace(self, query=query, tail=rest) if self._may_stand(query, rest) else None

    def _may_stand(self, query: PartialQuery, rest: str) -> bool:
        if rest == "<" and query.complete():
            return True
        quotes = '"`[' if query.scopes.names.dialect == "sqlite" else '"`'
        if rest[0] == "'":
            return f"</{self.closing}>" not in rest and query.copy().take("string", "''")
        whole = _TOKEN.fullmatch(rest)
        if rest[0] in quotes and (whole is None or len(rest) == 1):
            return f"</{self.closing}>" not in rest and may_begin(query, "quoted", rest)
        if rest[0] in quotes:  # closed, but for one more that makes two: a quote in the name
            return query.copy().take("quoted", rest) or may_begin(query, "quoted", rest)
        if rest == ".":
            return query.copy().take("number", ".0")
        if rest in _WHOLE:
            return query.copy().take("sign", _WHOLE[rest])
        if whole is None:
            return (number := _EXPONENT.fullmatch(rest)) is not None and query.copy().take("number", number[1])
        if whole.lastgroup == "number" and len(rest) > DIGITS:
            return False
        if whole.lastgroup == "word":
            return may_begin(query, "word", rest)
        return query.copy().take(str(whole.lastgroup), rest)


def _tokens(text: str, brackets: bool) -> Iterator[tuple[str, str, int]]:
    """Tokens from the beginning, as kind, text and end; it stops where none begins that is whole."""
    place = 0
    while place < len(text) and (found := _TOKEN.match(text, place)):
        kind = str(found.lastgroup)
        if kind == "bracketed" and not brackets:
            found, kind = _TOKEN.match(text[: place + 1], place) or found, "sign"
        if kind == "sign" and found[0] == "[" and brackets:  # not closed yet
            return
        yield ("quoted" if kind == "bracketed" else kind), found[0], found.end()
        place = found.end()


def _waits(kind: str, token: str, rest: str, behind_word: bool) -> bool:
    """Whether `token`, with which `rest` begins, waits for what follows: it may go on, or begins a closing tag."""
    if (rest + "/").startswith("</") or _EXPONENT.fullmatch(rest):
        return True
    goes_on = token not in _ENDED or (token == "." and not behind_word)  # .5
    return token == rest and kind != "space" and goes_on


@dataclass
class NamesOnly:
    """A turn whose SQL, and the links of its thought, name what a schema has, and nothing else."""

    names: Names
    text: str = ""
    sql: Written | None = None

    @property
    def active(self) -> bool:
        """Whether it thinks, or its SQL has begun, and not ended."""
        if self.sql is not None:
            return not self.sql.ended
        return (thought := _THOUGHT.search(self.text)) is not None and not thought[2]

    def allows(self, piece: str) -> bool:
        whole = piece.rstrip(PARTIAL)
        if whole == piece:
            return self._may_follow(piece)
        return any(self._may_follow(whole + letter) for letter in self.names.letters)

    def _may_follow(self, piece: str) -> bool:
        if self.sql is not None:
            return self.sql.then(piece) is not None
        thought = _THOUGHT.search(self.text + piece)
        return thought is None or may_link(thought[1], self.names)

    def go_on(self, text: str) -> None:
        text = text.rstrip(PARTIAL)
        if self.sql is not None and text.startswith(self.text):
            self.sql = self.sql.then(text[len(self.text) :]) or self._free()
        elif opened := _OPENED.search(text):
            began = Written(PartialQuery(Scopes(self.names)), closing=opened[1])
            self.sql = began.then(text[opened.end() :]) or self._free()
        self.text = text

    def copy(self) -> NamesOnly:
        return replace(self)

    def _free(self) -> Written:
        """Behind what should not have been written nothing is held to anything."""
        return Written(PartialQuery(Scopes(self.names)), ended=True)
