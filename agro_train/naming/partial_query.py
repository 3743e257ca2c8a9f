"""Which SQL can still become a query with names of a schema: read word by word, without a parser.

In the spirit of PICARD (2109.05093), which parses every continuation; this reads a query once, from left to right, and
knows only what names need. Much that it lets through is wrong in other ways. A query that it refuses cannot be finished
with names that exist, except for some forms that it does not know: lambdas, joins in brackets, database names before
table names, types of two words, functions that `words` does not list, a text in double quotes where only a column makes
sense, and `FROMpeople`. It also refuses an alias without AS behind a column, or a long one, since a model that misses a
name writes two words for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agro_data.databases.quoting import folded
from agro_train.naming import keyed
from agro_train.naming.following import keywords
from agro_train.naming.levels import EVERY, Level, Source, Want
from agro_train.naming.scopes import Scopes, outputs_of
from agro_train.naming.words import (
    ALIAS,
    ENDING,
    INFIX,
    JOINED,
    OPENING,
    POSTFIX,
    RESERVED,
    SET,
    TABLE_FUNCTIONS,
    TYPED,
    UNITS,
    UNKEYED,
    VALUES,
    inside,
    names_output,
)

_BEHIND: dict[str, Want] = {"group": "by", "order": "by", "window": "new"}  # of `ENDING`; else an operand
_DONE = VALUES | POSTFIX | UNITS | {"end", "asc", "desc", "nulls", "first", "last"}  # nothing is wanted behind them
_OPERAND_IN_WINDOW = INFIX | {"by", "case", "when", "then", "else"}  # an operand is wanted behind them


@dataclass
class PartialQuery:
    """A query so far. `take` and what it calls change it, and say False where the query cannot go on so."""

    scopes: Scopes
    over: bool = False  # by a semicolon

    def copy(self) -> PartialQuery:
        return PartialQuery(self.scopes.copy(), self.over)

    @property
    def top(self) -> Level:
        return self.scopes.top

    # --- tokens ------------------------------------------------------------------------------------------------------

    def take(self, kind: str, text: str) -> bool:
        """Whether a whole token may follow; `kind` as `writing` names it."""
        if self.over:
            return False
        if kind in {"word", "quoted"}:
            return self._name(folded(text), "") if kind == "word" else self._name(inside(text[:-1]), text[0])
        if text == "." or (text == "(" and self.top.word):
            return self._told(text)
        if kind == "string" and self.top.word in TYPED and not self.top.quote:
            self.top.word, self.top.want = "", "after"
            return True
        if not self.settle():
            return False
        if kind in {"string", "number"}:
            return self._value(kind, text)
        return self._sign(text)

    def _value(self, kind: str, text: str) -> bool:
        top = self.top
        if top.link is not None:
            return False
        if top.want == "operand":
            top.want, top.last, top.alias_may_follow = "after", text, False
            return True
        return top.want == "new" and kind == "string" and self._new(text[1:-1].lower())

    def _sign(self, sign: str) -> bool:
        top = self.top
        if top.link is not None:
            return self.scopes.link_by(sign)
        if sign in "([{":
            return self._open(sign)
        if sign in ")]}":
            return self._close()
        if sign == ";":
            self.over = self.complete()
            return self.over
        if sign == ",":
            return self._comma()
        if sign == EVERY and top.want in ("operand", "column"):
            top.star |= top.kind == "query" and top.clause == "select"
            before, top.want, top.last, top.alias_may_follow = top.want, "after", EVERY, False
            return before == "operand" or self.scopes.refer(top.qualifier, EVERY)
        if sign == "::" and top.want == "after":
            top.want = "word"
            return True
        if top.want == "operand":
            return sign in "+-~"
        if top.want == "after" and (top.kind != "query" or top.clause not in ("", "with")):
            top.want, top.last = "operand", sign
            return True
        return False

    def _comma(self) -> bool:
        top = self.top
        if top.cases:
            return False
        if top.kind == "names":
            top.want = "new"
            return True
        if top.kind == "query" and top.clause in ("with", "window"):
            following = top.want in ("cte", "after") and top.last == ")"
            top.want = "new"
            return following
        if top.want in ("sourced", "aliased") or (top.clause == "on" and top.want == "after"):
            top.clause, top.want, top.last, top.owed = "from", "source", ",", False
            return self.scopes.bind()
        if top.want == "after" or top.kind == "window":
            top.want, top.last = "operand", ","
            return True
        return False

    # --- brackets ----------------------------------------------------------------------------------------------------

    def _open(self, sign: str) -> bool:
        top = self.top
        before, kind, want, sees = top.want, "bracket", "operand", True
        if top.want == "operand":
            top.want, top.alias_may_follow = "after", True
        elif top.want == "source":
            top.want, top.source, want, sees = "sourced", Source("", None), "start", False
        elif top.want == "start":
            top.want, top.clause, top.closed, want = "after", "limit", True, "start"
        elif top.want == "cte" and top.last in ("as", "materialized"):
            top.ctes, want, sees = (*top.ctes, (top.cte, None)), "start", False
        elif top.want in ("cte", "aliased"):
            kind, want = "names", "new"
        elif top.want == "bracket":
            kind, top.want = "bracket" if top.last == "filter" else "window", "after"
        elif top.want == "after" and (sign == "[" or top.last in ("word", "as")):
            pass
        else:
            return False
        if (want == "start" and not self.scopes.may_deepen) or not self.scopes.may_nest:
            return False
        level = Level("query" if want == "start" else kind, want, sees=sees)  # type: ignore[arg-type]
        level.last = "(" if before != "after" else sign
        self.scopes.levels.append(level)
        return True

    def _close(self) -> bool:
        inner = self.top
        if len(self.scopes.levels) == 1 or inner.cases:
            return False
        empty = inner.kind != "query" and inner.want == "operand" and inner.last == "("
        if inner.kind == "query":
            if inner.clause in ("", "with") or not self._end_select():
                return False
        elif not (inner.want == "after" or empty or inner.kind == "window"):
            return False
        self.scopes.levels.pop()
        top = self.top
        if inner.kind == "names":
            top.renamed = inner.outputs
            if top.want == "aliased" and top.sources:
                top.sources = (*top.sources[:-1], Source(top.sources[-1].alias, inner.outputs))
        elif top.want == "sourced":
            top.source = Source("", outputs_of(inner))
        elif top.want == "cte":
            top.ctes = (*top.ctes[:-1], (top.cte, top.renamed or outputs_of(inner)))
            top.last, top.renamed = ")", frozenset()
        if top.want == "after":
            top.last = ")"
        return True

    # --- names -------------------------------------------------------------------------------------------------------

    def _name(self, name: str, quote: str) -> bool:
        if not self.settle():
            return False
        top = self.top
        if top.want in ("new", "word", "column", "source"):
            return self._in_place(name, quote)
        if top.want == "operand":
            if not quote and name in keywords(self.scopes):
                return self._keyword(name)
            top.word, top.quote = name, quote
            if top.link is not None:
                return any(name in tied for tied in keyed.names_of(self.scopes.names, top))
            return (
                self.scopes.may_be_text(quote)
                or self.scopes.may_be_column(name)
                or bool(self.scopes.qualified_by(name))
                or (not quote and name in self.scopes.names.functions)
            )
        if not quote and name in keywords(self.scopes):
            return self._keyword(name)
        if top.want == "sourced" and (quote or (name not in RESERVED and ALIAS.fullmatch(name))):
            return self._alias(name)
        if top.want == "bracket" and top.last == "over":
            top.want = "after"
            return True
        if self.scopes.alias_may_follow and (quote or names_output(name)):
            return self._new(name)
        return False

    def _in_place(self, name: str, quote: str) -> bool:
        """A name where nothing but a name may stand."""
        top = self.top
        if top.want == "new":
            if top.clause == "with" and name == "recursive" and top.last == "with" and not quote:
                top.last = name
                return True
            return (bool(quote) or name not in RESERVED) and self._new(name)
        if top.want == "word":
            top.want, top.last = "after", "word"
            return True
        if top.want == "column":
            top.want, top.last, top.alias_may_follow = "after", "column", False
            return self.scopes.refer(top.qualifier, name) and self.scopes.link_with(top.qualifier, name)
        if not quote and name == "lateral":
            return True
        found = self.scopes.source_named(name)
        if found is not None and found.table and not keyed.may_join(self.scopes.names, top, name):
            return False
        if found is None:
            top.word, top.want = name, "sourced"
            top.source = Source("", None)
            return not quote and name in TABLE_FUNCTIONS
        top.source, top.want = found, "sourced"
        return True

    def _new(self, name: str) -> bool:
        """A name that is given: to an output, to a source, to a CTE, in a list, or a type."""
        top = self.top
        if top.kind == "names":
            top.outputs, top.want = top.outputs | {name}, "after"
        elif top.kind == "query" and top.clause == "with":
            top.cte, top.want, top.last = name, "cte", "name"
        elif top.kind == "query" and top.clause == "window":
            top.want = "as"
        elif top.kind == "query" and top.source is not None:
            return self._alias(name)
        else:
            top.want, top.last, top.alias_may_follow = "after", "as", False
            top.outputs, top.named = top.outputs | {name}, top.named | {name}
        return True

    def _alias(self, name: str) -> bool:
        top = self.top
        if top.source is None:
            return False
        top.source, top.want, top.last = replace(top.source, alias=name), "aliased", "alias"
        return self.scopes.bind()

    def _told(self, sign: str) -> bool:
        """A dot or an opening bracket says what the word before it is."""
        top = self.top
        name, top.word = top.word, ""
        if sign == ".":
            top.qualifier, top.want = name, "column"
            if top.link is not None:
                return name in keyed.names_of(self.scopes.names, top)[0]
            return bool(self.scopes.qualified_by(name))
        if not self.scopes.may_nest:
            return False
        if top.want == "sourced":
            self.scopes.levels.append(Level("bracket", "operand"))
            return True
        if top.quote or top.link is not None or name not in self.scopes.names.functions:
            return False
        top.want, top.last, top.alias_may_follow = "after", name, True
        level = Level("bracket", "word" if name == "extract" else "operand")
        self.scopes.levels.append(level)
        return True

    def settle(self) -> bool:
        """A word that neither a dot nor a bracket followed is a column (or a text of SQLite)."""
        top = self.top
        if not top.word:
            return True
        name, top.word = top.word, ""
        if top.want == "sourced":  # a table function without brackets
            return False
        text = self.scopes.may_be_text(top.quote)
        top.want, top.last, top.alias_may_follow = "after", "column", False
        known = text or (self.scopes.may_be_column(name) and self.scopes.refer("", name))
        return known and self.scopes.link_with("", name)

    # --- ends -------------------------------------------------------------------------------------------------------

    def _end_select(self) -> bool:
        top = self.top
        ended = self.settle() and top.want in ("after", "sourced", "aliased") and top.clause not in ("", "with")
        return ended and top.link is None and not top.cases and self.scopes.end_from()

    def complete(self) -> bool:
        """Whether the query may end here."""
        copied = self.copy()
        return self.over or (len(copied.scopes.levels) == 1 and copied.top.kind == "query" and copied._end_select())

    # --- keywords ----------------------------------------------------------------------------------------------------

    def _keyword(self, name: str) -> bool:
        top = self.top
        before, top.last, top.alias_may_follow = top.last, name, name == "end"
        top.cases += {"case": 1, "end": -1}.get(name, 0)
        if top.kind == "window":
            top.want = "operand" if name in _OPERAND_IN_WINDOW else "after"
            return True
        if name in OPENING:
            return self._opening(name)
        if name in JOINED or name in self.scopes.names.joining or name == "outer":
            return self._joining(name)
        if name in ("on", "using"):
            return self._joined_by(name)
        if top.kind == "query" and name == "from" and before != "distinct":
            top.clause, top.want, top.owed = "from", "source", False
            return True
        if top.kind == "query" and name in SET:
            return self._another_select()
        if top.kind == "query" and name in ENDING and before != "within":
            top.clause, top.want = name, _BEHIND.get(name, "operand")
            return self.scopes.end_from()
        top.want = self._wanted_behind(name, before)
        return True

    def _opening(self, name: str) -> bool:
        """SELECT, WITH or VALUES."""
        top = self.top
        if top.want == "operand":  # it opens a query in what could have been any brackets
            top.kind = "query"
        top.clause, top.want = name, "new" if name == "with" else "operand"
        if name == "values":
            top.clause, top.closed, top.source = "limit", True, None
        return True

    def _joining(self, name: str) -> bool:
        """JOIN, or a word that leads to it."""
        top = self.top
        top.free = name in UNKEYED or (top.free and top.want == "join")
        top.owed = name == "join" and not top.free
        top.clause, top.want = "from", "source" if name == "join" else "join"
        return self.scopes.bind()

    def _joined_by(self, name: str) -> bool:
        """ON or USING: a clause of a query; in brackets (of a function) a word before an operand."""
        top = self.top
        in_query = top.kind == "query"
        top.clause, top.want, top.owed = "on" if in_query else top.clause, "operand", False
        bound = self.scopes.bind()
        if name == "on" and in_query:
            self.scopes.begin_link()
        return bound

    def _wanted_behind(self, name: str, before: str) -> Want:
        """What is wanted behind a keyword that begins no clause; `before` is the keyword or bracket before it."""
        top = self.top
        if name in ("order", "group") and before != "within":
            return "by"
        if name == "as":
            if top.kind == "query" and top.clause == "with":
                return top.want
            return "bracket" if top.want == "as" else "new"
        if name in ("over", "filter", "within") or before == "within":
            return "bracket"
        if name == "collate":
            return "word"
        if name in _DONE:
            return "after"
        if name == "all" and before in SET:
            return "start"
        if name == "all":
            return "operand" if before in ("select", "(") else "after"
        return "cte" if top.want == "cte" else "operand"

    def _another_select(self) -> bool:
        """Behind UNION and its like."""
        if not self._end_select():
            return False
        top = self.top
        top.past, top.sources, top.closed, top.tied = (*top.past, *top.sources), (), False, 1
        top.bare, top.qualified, top.clause, top.want = frozenset(), frozenset(), "", "start"
        return True
