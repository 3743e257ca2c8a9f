"""Which SQL can still become a query with names of a schema: read word by word, without a parser.

In the spirit of PICARD (2109.05093), which parses every continuation; this reads a query once, from left to right, and
knows only what names need: levels of brackets, clauses, what stands in FROM, and which names wait for a table. What it
refuses cannot be finished with names that exist; much that it lets through is wrong in other ways.

Where a query may name what is defined later, only usual names pass: aliases of up to four
letters and a number (`T1`, `c`, `sub`), a table's own name, and outputs of a derived table that are columns of the
schema or begin as in `COMPUTED`. Lambdas, and joins in brackets, are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Literal

from agro_data.databases.types import Dialect
from agro_data.sql.scope import Schema

Columns = frozenset[str] | None  # lower case; None: not known, anything may be one
Kind = Literal["query", "bracket", "window", "names"]
# What is expected next: the beginning of a query; an operand, or what follows one; what FROM names, its alias, what
# follows; a new name; a column behind a dot; what follows a CTE's name; any one word; brackets; or one given word.
Want = Literal[
    "start", "operand", "after", "source", "sourced", "aliased", "new", "column", "cte", "word", "bracket", "by", "join"
]

ALIAS = re.compile(r"[a-z]{1,4}\d{0,2}")  # of a source that is named before it is defined
COMPUTED = re.compile(r"(n|rn|rnk|rank|ranking|cnt|count|num|total|sum|avg|average|max|min|percentage|share)(_\w*)?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BEFORE = _words("not case distinct null true false current_date current_time current_timestamp exists all")
_OPENING = frozenset({"select", "with", "values"})
_NEGATED = _words("in like between glob ilike similar regexp match null distinct exists materialized")
_VALUES = frozenset({"null", "true", "false", "current_date", "current_time", "current_timestamp"})
_INFIX = _words("and or in not like ilike glob regexp match between is when then else escape")
_POSTFIX = frozenset({"end", "isnull", "notnull"})
_UNITS = _words("year years month months week weeks day days hour hours minute minutes second seconds")
_SET = frozenset({"union", "intersect", "except"})
_JOINING = _words("join inner left right full outer cross natural semi anti asof positional")
_WINDOW = _words(
    "partition by order asc desc nulls first last rows range groups between and unbounded preceding following current "
    "row exclude ties no others"
)
_CLAUSES = ("select", "from", "on", "where", "group", "having", "window", "qualify", "order", "limit")
# Words that end what FROM lists, and so wait until every name has found its table.
_ENDING = frozenset({"where", "group", "having", "order", "limit", "qualify", "window"}) | _SET
_RESERVED = _BEFORE | _INFIX | _JOINING | _ENDING | _words("select from on using as with values offset by")
_PLAIN = re.compile(r"[^\W\d][\w$]*")
_TYPED = frozenset({"date", "time", "timestamp", "interval"})  # DATE '2020-01-31'
_TABLE_FUNCTIONS = _words("json_each json_tree generate_series range unnest")
_SPECIAL = frozenset({"rowid", "oid", "_rowid_"})

_SQLITE = (
    "abs acos acosh asin asinh atan atan2 atanh avg cast ceil ceiling char coalesce concat concat_ws cos cosh count "
    "cume_dist date datetime degrees dense_rank exp first_value floor format glob group_concat hex ifnull iif instr "
    "json json_array json_array_length json_extract json_group_array json_group_object json_object json_type "
    "json_valid julianday lag last_value lead length like ln log log10 log2 lower ltrim max min mod nth_value ntile "
    "nullif octet_length percent_rank pi pow power printf quote radians rank replace round row_number rtrim sign sin "
    "sinh sqrt strftime string_agg substr substring sum tan tanh time timediff total trim trunc typeof unicode "
    "unixepoch upper"
)
_DUCKDB = (
    "any_value approx_count_distinct approx_quantile arg_max arg_min array_agg bit_and bit_or bool_and bool_or "
    "century contains corr count_if covar_pop covar_samp current_localtimestamp date_add date_diff date_part date_sub "
    "date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear decade ends_with "
    "entropy epoch epoch_ms even extract favg first fsum gcd geomean greatest histogram hour if ilike isfinite isinf "
    "isnan isodow isoyear kurtosis last last_day lcm least left len levenshtein list list_aggregate list_contains "
    "list_sort list_sum listagg lpad mad make_date make_timestamp max_by md5 median microsecond millisecond min_by "
    "minute mode month monthname now position product quantile quantile_cont quantile_disc quarter regexp_extract "
    "regexp_full_match regexp_matches regexp_replace regr_slope repeat reverse right row rpad second sem skewness "
    "split_part starts_with stddev stddev_pop stddev_samp strip_accents strlen strpos strptime string_split "
    "time_bucket timestamp to_days to_hours to_minutes to_months to_seconds to_years today translate try_cast unnest "
    "var_pop var_samp variance week weekday weekofyear year yearweek"
)
FUNCTIONS: dict[Dialect, frozenset[str]] = {
    "sqlite": _words(_SQLITE),
    "duckdb": _words(_SQLITE) | _words(_DUCKDB),
}


@dataclass(frozen=True)
class Names:
    """What a schema offers, in lower case."""

    tables: dict[str, frozenset[str]]
    columns: frozenset[str]
    dialect: Dialect

    @classmethod
    def of(cls, schema: Schema, dialect: Dialect) -> Names:
        tables = {table.lower(): frozenset(map(str.lower, columns)) for table, columns in schema.items()}
        return cls(tables, frozenset().union(*tables.values()), dialect)

    @property
    def functions(self) -> frozenset[str]:
        return FUNCTIONS[self.dialect]


@dataclass
class _Level:
    """What stands between two brackets, or the whole query. Fields hold values that are replaced, never changed."""

    kind: Kind
    want: Want
    clause: str = ""  # of a query: one of _CLAUSES, "with", or "" before it begins
    last: str = "("  # the keyword or bracket that stands before
    word: str = ""  # a name that has been read, and what it is the next token tells
    quote: str = ""  # its quotes
    qualifier: str = ""
    alias_may_follow: bool = False
    sees: bool = True  # whether names of the query around it may stand in it
    closed: bool = False  # all of FROM is read
    sources: tuple[tuple[str, Columns], ...] = ()
    past: tuple[tuple[str, Columns], ...] = ()  # sources of the SELECTs before a set operation
    source: tuple[str, Columns] | None = None  # read last, its alias may follow
    bare: frozenset[str] = frozenset()  # columns that wait for a source
    qualified: frozenset[tuple[str, str]] = frozenset()
    outputs: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()  # outputs that have an alias
    star: bool = False
    ctes: tuple[tuple[str, Columns], ...] = ()
    cte: str = ""  # whose body is read
    renamed: frozenset[str] = frozenset()  # the columns of a list behind an alias or a CTE's name


@dataclass
class Reading:
    """A query so far. `take` and what it calls change it, and say False where the query cannot go on so."""

    names: Names
    levels: list[_Level] = field(default_factory=lambda: [_Level("query", "start")])
    over: bool = False  # by a semicolon

    def copy(self) -> Reading:
        return Reading(self.names, [copy(level) for level in self.levels], self.over)

    @property
    def top(self) -> _Level:
        return self.levels[-1]

    # --- tokens ------------------------------------------------------------------------------------------------------

    def take(self, kind: str, text: str) -> bool:
        """Whether a whole token may follow; `kind` as `lexing` names it."""
        if self.over:
            return False
        if kind in {"word", "quoted"}:
            return self._name(text.lower(), "") if kind == "word" else self._name(text[1:-1].lower(), text[0])
        if text == "." or (text == "(" and self.top.word):
            return self._told(text)
        if kind == "string" and self.top.word in _TYPED and not self.top.quote:
            self.top.word, self.top.want = "", "after"
            return True
        if not self._settle():
            return False
        if kind in {"string", "number"}:
            return self._value(kind, text)
        return self._sign(text)

    def _value(self, kind: str, text: str) -> bool:
        top = self.top
        if top.want == "operand":
            top.want, top.last, top.alias_may_follow = "after", text, False
            return True
        return top.want == "new" and kind == "string" and self._new(text[1:-1].lower())

    def _sign(self, sign: str) -> bool:
        top = self.top
        if sign in "([{":
            return self._open(sign)
        if sign in ")]}":
            return self._close()
        if sign == ";":
            self.over = self.complete()
            return self.over
        if sign == ",":
            return self._comma()
        if sign == "*" and top.want in ("operand", "column"):
            top.star |= top.kind == "query" and top.clause == "select"
            top.want, top.last, top.alias_may_follow = "after", "*", False
            return True
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
        if top.kind == "names":
            top.want = "new"
            return True
        if top.kind == "query" and top.clause == "with":
            following = top.want == "cte" and top.last == ")"
            top.want = "new"
            return following
        if top.want in ("sourced", "aliased") or (top.clause == "on" and top.want == "after"):
            top.clause, top.want, top.last = "from", "source", ","
            return self._bind()
        if top.want == "after" or top.kind == "window":
            top.want, top.last = "operand", ","
            return True
        return False

    # --- brackets ----------------------------------------------------------------------------------------------------

    def _open(self, sign: str) -> bool:
        top = self.top
        before, kind, want, sees = top.want, "bracket", "operand", True
        if top.want == "operand":
            if top.last in _SET and top.kind == "query":
                return False
            top.want, top.alias_may_follow = "after", True
        elif top.want == "source":
            top.want, top.source, want, sees = "sourced", ("", None), "start", False
        elif top.want == "start":
            top.want, top.clause, top.closed, want = "after", "limit", True, "start"
        elif top.want == "cte" and top.last in ("as", "materialized"):
            top.ctes, want, sees = (*top.ctes, (top.cte, None)), "start", False
        elif top.want in ("cte", "aliased"):
            kind, want = "names", "new"
        elif top.want == "bracket":
            kind, top.want = "window", "after"
        elif top.want == "after" and (sign == "[" or top.last in ("word", "as")):
            pass
        else:
            return False
        level = _Level("query" if want == "start" else kind, want, sees=sees)  # type: ignore[arg-type]
        level.last = "(" if before != "after" else sign
        self.levels.append(level)
        return True

    def _close(self) -> bool:
        inner = self.top
        if len(self.levels) == 1:
            return False
        empty = inner.kind != "query" and inner.want == "operand" and inner.last == "("
        if inner.kind == "query":
            if inner.clause in ("", "with") or not self._end_select():
                return False
        elif not (inner.want == "after" or empty or inner.kind == "window"):
            return False
        self.levels.pop()
        top = self.top
        if inner.kind == "names":
            top.renamed = inner.outputs
            if top.want == "aliased" and top.sources:
                top.sources = (*top.sources[:-1], (top.sources[-1][0], inner.outputs))
        elif top.want == "sourced":
            top.source = ("", _outputs(inner))
        elif top.want == "cte":
            top.ctes = (*top.ctes[:-1], (top.cte, top.renamed or _outputs(inner)))
            top.last, top.renamed = ")", frozenset()
        if top.want == "after":
            top.last = ")"
        return True

    # --- names -------------------------------------------------------------------------------------------------------

    def _name(self, name: str, quote: str) -> bool:
        if not self._settle():
            return False
        top = self.top
        if top.want in ("new", "word", "column", "source"):
            return self._in_place(name, quote)
        if top.want == "operand":
            if not quote and name in self._keywords():
                return self._keyword(name)
            top.word, top.quote = name, quote
            return (
                self._as_column(name, quote)
                or bool(self.qualified_by(name))
                or (not quote and name in self.names.functions)
            )
        if not quote and name in self._keywords():
            return self._keyword(name)
        if top.want == "sourced" and (quote or name not in _RESERVED):
            return self._alias(name)
        if top.want == "bracket" and top.last == "over":
            top.want = "after"
            return True
        if top.want == "after" and top.clause == "select" and top.alias_may_follow and (quote or name not in _RESERVED):
            return self._new(name)
        return False

    def _in_place(self, name: str, quote: str) -> bool:
        """A name where nothing but a name may stand."""
        top = self.top
        if top.want == "new":
            if top.clause == "with" and name == "recursive" and top.last == "with" and not quote:
                top.last = name
                return True
            return (bool(quote) or name not in _RESERVED) and self._new(name)
        if top.want == "word":
            top.want, top.last = "after", "word"
            return True
        if top.want == "column":
            top.want, top.last, top.alias_may_follow = "after", "column", False
            return self._refer(top.qualifier, name)
        if not quote and name == "lateral":
            return True
        found = self._sources_named(name)
        if found is None:
            top.word, top.want = name, "sourced"
            top.source = ("", None)
            return not quote and name in _TABLE_FUNCTIONS
        top.source, top.want = (name, found[0]), "sourced"
        return True

    def _sources_named(self, name: str) -> tuple[Columns] | None:
        for level in reversed(self.levels):
            for cte, columns in reversed(level.ctes):
                if cte == name:
                    return (columns,)
        return (self.names.tables[name],) if name in self.names.tables else None

    def _new(self, name: str) -> bool:
        """A name that is given: to an output, to a source, to a CTE, in a list, or a type."""
        top = self.top
        if top.kind == "names":
            top.outputs, top.want = top.outputs | {name}, "after"
        elif top.kind == "query" and top.clause == "with":
            top.cte, top.want, top.last = name, "cte", "name"
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
        top.source, top.want, top.last = (name, top.source[1]), "aliased", "alias"
        return self._bind()

    def _bind(self) -> bool:
        """What FROM named last is now known by its name; False when that name was used for what it has not."""
        top = self.top
        if top.source is None:
            return True
        (name, columns), top.source = top.source, None
        top.sources = (*top.sources, (name, columns))
        return not self.conflicts(name, columns)

    def conflicts(self, name: str, columns: Columns) -> bool:
        """Whether `name` was used for a column that is not among `columns`, or stands for another source."""
        twice = name != "" and sum(alias == name for alias, _ in self.top.sources) > 1
        return twice or any(alias == name and not _has(columns, column) for alias, column in self.top.qualified)

    def _told(self, sign: str) -> bool:
        """A dot or an opening bracket says what the word before it is."""
        top = self.top
        name, top.word = top.word, ""
        if sign == ".":
            top.qualifier, top.want = name, "column"
            return bool(self.qualified_by(name))
        if top.want == "sourced":
            self.levels.append(_Level("bracket", "operand"))
            return True
        if top.quote or name not in self.names.functions:
            return False
        top.want, top.last, top.alias_may_follow = "after", name, True
        level = _Level("bracket", "word" if name == "extract" else "operand")
        self.levels.append(level)
        return True

    def _settle(self) -> bool:
        """A word that neither a dot nor a bracket followed is a column (or a string of SQLite)."""
        top = self.top
        if not top.word:
            return True
        name, top.word = top.word, ""
        if top.want == "sourced":  # a table function without brackets
            return False
        top.want, top.last, top.alias_may_follow = "after", "column", False
        return self._as_column(name, top.quote) and self._refer("", name, top.quote)

    # --- what names may be -------------------------------------------------------------------------------------------

    def _query(self, place: int) -> int:
        """The place of the query that a level belongs to."""
        while self.levels[place].kind != "query":
            place -= 1
        return place

    def _queries(self) -> Iterator[_Level]:
        """The query that is being written, and those around it whose names it sees."""
        place = self._query(len(self.levels) - 1)
        while True:
            level = self.levels[place]
            yield level
            if place == 0:
                return
            place = self._query(place - 1)
            if not level.sees:  # what stands in FROM sees what the query sees that it stands in; a CTE sees nothing
                if self.levels[place].clause in ("", "with") or not self.levels[place].sees or place == 0:
                    return
                place = self._query(place - 1)

    def _ctes(self) -> Iterator[tuple[str, Columns]]:
        for level in reversed(self.levels):
            yield from reversed(level.ctes)

    def _columns(self) -> Iterator[Columns]:
        """Sets of what a name without a qualifier may be."""
        for level in self._queries():
            if not level.closed:
                yield self.names.columns
                yield from (columns for _, columns in self._ctes())
            yield level.named
            yield from (columns for _, columns in level.sources)
            if level.clause == "order" and level.past:
                yield level.outputs
                yield from (columns for _, columns in level.past)

    def _as_column(self, name: str, quote: str) -> bool:
        if (quote == '"' and self.names.dialect == "sqlite") or name in _SPECIAL:
            return True  # a double-quoted string, where it names nothing
        if any(_has(columns, name) for columns in self._columns()):
            return True
        return COMPUTED.fullmatch(name) is not None and any(not level.closed for level in self._queries())

    def qualified_by(self, name: str) -> list[Columns]:
        """What a qualifier may stand for, as sets of columns; none where it may not be one."""
        found: list[Columns] = []
        for level in self._queries():
            own = [columns for alias, columns in (*level.sources, *level.past) if alias == name]
            if own:
                return found + own
            if level.clause == "select":
                used = {column for alias, column in level.qualified if alias == name}
                later = dict(self._ctes()) | self.names.tables
                alone = [later[name]] if name in later else []
                found += [
                    one for one in (later.values() if ALIAS.fullmatch(name) else alone) if one is None or used <= one
                ]
        return found

    def _refer(self, qualifier: str, name: str, quote: str = "") -> bool:
        """Remember that a column was named. Behind a qualifier it must be one of what that may stand for."""
        if qualifier and name not in _SPECIAL and not any(_has(one, name) for one in self.qualified_by(qualifier)):
            return False
        if self.top.kind == "query" and self.top.clause == "select":
            self.top.outputs |= {name}
        query = next(self._queries())
        if query.closed or name in _SPECIAL or (quote == '"' and self.names.dialect == "sqlite"):
            return True
        if qualifier:
            query.qualified |= {(qualifier, name)}
        else:
            query.bare |= {name}
        return True

    def _close_from(self) -> bool:
        """FROM is read: every name that waited belongs to a source, or waits for one of a query around."""
        own, *around = self._queries()
        if own.closed:
            return True
        own.closed = True
        for name in sorted(own.bare):
            if not any(_has(columns, name) for columns in (own.named, *(found for _, found in own.sources))):
                outer = next((one for one in around if not one.closed), None)
                if any(_has(columns, name) for level in around for _, columns in level.sources):
                    continue
                if outer is None:
                    return False
                outer.bare |= {name}
        for qualifier, name in sorted(own.qualified):
            bound = [columns for alias, columns in own.sources if alias == qualifier]
            bound = bound or [c for level in around for alias, c in level.sources if alias == qualifier][:1]
            if any(_has(columns, name) for columns in bound):
                continue
            outer = next((one for one in around if not one.closed), None)
            if bound or outer is None:
                return False
            outer.qualified |= {(qualifier, name)}
        return True

    def _end_select(self) -> bool:
        top = self.top
        ended = self._settle() and top.want in ("after", "sourced", "aliased") and top.clause not in ("", "with")
        return ended and self._bind() and self._close_from()

    def complete(self) -> bool:
        """Whether the query may end here."""
        copied = self.copy()
        return self.over or (len(copied.levels) == 1 and copied.top.kind == "query" and copied._end_select())

    # --- keywords ----------------------------------------------------------------------------------------------------

    def _keywords(self) -> frozenset[str]:
        """Keywords that may stand next."""
        top = self.top
        if top.kind == "window":
            return _WINDOW | _BEFORE | _INFIX | _POSTFIX
        if top.want == "start":
            return _OPENING
        if top.want == "by":
            return frozenset({"by"})
        if top.want == "join":
            return _JOINING
        if top.want == "cte":
            wanted = {"name": {"as"}, "as": {"not", "materialized"}, "not": {"materialized"}, ")": {"select"}}
            return frozenset(wanted.get(top.last, ()))
        if top.want == "operand":
            more: frozenset[str] = frozenset()
            if top.last == "case":
                more |= {"when"}
            if top.last in ("not", "is"):
                more |= _NEGATED
            if top.last == "(" and top.kind == "bracket":
                more |= _OPENING | {"where", "order", "both", "leading", "trailing"}
            return _BEFORE | more | ({"from"} if top.last == "distinct" else frozenset())
        if top.want not in ("after", "sourced", "aliased"):
            return frozenset()
        return self._following(top)

    def _following(self, top: _Level) -> frozenset[str]:
        if top.kind == "bracket":
            more = {"as", "order", "asc", "desc", "from", "for", "separator", "over", "filter", "collate", "nulls"}
            return _INFIX | _POSTFIX | _UNITS | more | {"first", "last", "using", "limit", "respect", "ignore", "by"}
        words: set[str] = set()
        if top.want == "after" and top.clause not in ("with", ""):
            words |= _INFIX | _POSTFIX | {"over", "filter", "within", "collate", "order", "limit"}
            words |= _UNITS if self.names.dialect == "duckdb" else set()
        if top.clause == "select":
            words |= {"from", "as", "exclude"} | _SET | {"where", "limit", "order"}
        if top.clause in ("from", "on"):
            words |= _JOINING | {"on", "using"}
            words |= {"as"} if top.want == "sourced" else set()
        if top.clause in ("order", "limit"):
            words |= {"asc", "desc", "nulls", "first", "last", "offset"}
        if top.clause != "with":
            words |= _ENDING
        if top.clause not in ("from", "on", "select"):
            words -= {"where"}
        if words & _ENDING and not self.copy()._ends():
            words -= _ENDING
        return frozenset(words)

    def _ends(self) -> bool:
        return self._bind() and self._close_from()

    def _keyword(self, name: str) -> bool:
        top = self.top
        before, top.last, top.alias_may_follow = top.last, name, False
        if top.kind == "window":
            top.want = "operand" if name in ("by", "between", "and") else "after"
            if name in _INFIX or name in ("case", "not"):
                top.want = "operand"
        elif name in _OPENING:
            if top.want == "operand":
                top.kind = "query"
            top.clause, top.want = name, "new" if name == "with" else "operand"
            if name == "values":
                top.clause, top.closed, top.source = "limit", True, None
        elif name == "from" and top.kind == "query" and before != "distinct":
            top.clause, top.want = "from", "source"
        elif name in _JOINING:
            top.clause, top.want = "from", "source" if name == "join" else "join"
            return self._bind()
        elif name in ("on", "using"):
            top.clause, top.want = ("on" if top.kind == "query" else top.clause), "operand"
            return self._bind()
        elif name in _SET and top.kind == "query":
            if not self._end_select():
                return False
            top.past, top.sources, top.closed = (*top.past, *top.sources), (), False
            top.bare, top.qualified, top.clause, top.want = frozenset(), frozenset(), "", "start"
        elif name in _ENDING and top.kind == "query" and before != "within":
            top.clause = name
            if not self._ends():
                return False
            top.want = "by" if name in ("group", "order") else "new" if name == "window" else "operand"
        elif name in ("order", "group"):
            top.want = "by"
        elif name == "as":
            if top.kind == "query" and top.clause == "with":
                return True
            top.want = "new"
        elif name in ("over", "filter", "within"):
            top.want = "bracket"
        elif name == "collate":
            top.want = "word"
        elif name in _VALUES or name in _POSTFIX or name in _UNITS:
            top.want = "after"
        elif name in ("asc", "desc", "nulls", "first", "last", "materialized", "all"):
            top.want = top.want if name == "materialized" else "after"
            if name == "all" and before in _SET:
                top.want = "start"
            elif name == "all" and before in ("select", "("):
                top.want = "operand"
        elif top.want != "cte":
            top.want = "operand"
        return True

    # --- beginnings --------------------------------------------------------------------------------------------------

    def may_begin(self, kind: str, text: str) -> bool:
        """Whether a word or a name in quotes that is not closed may follow, or begin what may follow."""
        if self.over or not (settled := self.copy())._settle():
            return False
        name = text.lower() if kind == "word" else text[1:].lower()
        if kind == "word" and _begins(name, settled._keywords()):
            return True
        return settled._names_begin(name, "" if kind == "word" else text[0])

    def _names_begin(self, name: str, quote: str) -> bool:
        top = self.top
        if top.want in ("sourced", "new"):
            return self._alias_begins(name, quote)
        if top.want == "word" or (top.want == "bracket" and top.last == "over"):
            return True
        if top.want == "column":
            found = self.qualified_by(top.qualifier)
            return any(columns is None or _begins(name, columns, quote) for columns in found) or _begins(name, _SPECIAL)
        if top.want == "source":
            words = {*self.names.tables, *(cte for cte, _ in self._ctes())}
            return _begins(name, words, quote) or (not quote and _begins(name, _TABLE_FUNCTIONS | {"lateral"}))
        if top.want == "operand":
            return self._operand_begins(name, quote)
        return top.want == "after" and top.clause == "select" and top.alias_may_follow

    def _alias_begins(self, name: str, quote: str) -> bool:
        top = self.top
        if not quote and name in _ENDING and not _begins(name, self._keywords()):
            return top.want != "sourced"
        if top.source is None or not self.conflicts(name, top.source[1]):
            return True  # where it stands for another source already it may go on: `v2` behind `v`
        return any(alias != name and alias.startswith(name) for alias, _ in top.qualified)

    def _operand_begins(self, name: str, quote: str) -> bool:
        if quote == '"' and self.names.dialect == "sqlite":
            return True
        if not quote and _begins(name, self.names.functions):
            return True
        if any(columns is None or _begins(name, columns, quote) for columns in self._columns()) or _begins(
            name, _SPECIAL
        ):
            return True
        open_select = False
        for level in self._queries():
            if _begins(name, (alias for alias, _ in (*level.sources, *level.past)), quote):
                return True
            open_select |= level.clause == "select" and not level.closed
        if not open_select:
            return False
        if COMPUTED.fullmatch(name) or _begins(name, _STEMS) or _begins(name, self.names.tables, quote):
            return True
        return _begins(name, (cte for cte, _ in self._ctes()), quote) or (
            ALIAS.fullmatch(name) is not None and bool(self.qualified_by(name))
        )


_STEMS = ("rnk", "ranking", "cnt", "count", "num", "total", "sum", "average", "max", "min", "percentage", "share")


def _has(columns: Columns, name: str) -> bool:
    return columns is None or name in columns


def _begins(name: str, words: Iterable[str], quote: str = "") -> bool:
    """Whether `name` begins one of `words`; without quotes, one that can be written so."""
    return any(word.startswith(name) and (quote or _PLAIN.fullmatch(word)) for word in words)


def _outputs(level: _Level) -> Columns:
    """The columns of a derived table, with some that it may not have; None where they are not known."""
    if not level.star:
        return level.outputs
    found = [columns for _, columns in (*level.past, *level.sources)]
    known = [columns for columns in found if columns is not None]
    return frozenset(level.outputs).union(*known) if found and len(known) == len(found) else None
