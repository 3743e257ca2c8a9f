"""What holds of every row of one SELECT, by the schema and by its own conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from agro_data.databases.quoting import folded
from agro_data.databases.schema.checks import columns_of, meets
from agro_data.databases.types import Cell, Dialect
from agro_data.populate.schema import ColumnSpec, Schema, TableSpec
from agro_data.profiling.profile import ForeignKey
from agro_data.sql.forms.sqlite_meaning import affinity
from agro_data.verify.proofs.terms import (
    COMPARED,
    Combined,
    From,
    Query,
    Select,
    Term,
    columns_in,
    parts,
    totalled,
    within,
)

_CARRYING = frozenset((
    "Add", "Sub", "Mul", "Div", "IntDiv", "Mod", "Neg", "Abs", "Round", "Cast", "Lower", "Upper", "Length", "Trim",
    "Substring", "DPipe", "TimeToStr", "TsOrDsToTimestamp", "TsOrDsToDate", "Date", "Extract", "Year", "Month", "Day",
    "DateDiff",
))  # fmt: skip
_OF_DATES = frozenset(("julianday", "date", "datetime", "time", "unixepoch"))  # SQLite's, that sqlglot has no class for
_CONSTANTS: Mapping[str, Callable[[str], Cell]] = {
    "text": str, "number": lambda text: int(text) if text.isdigit() else float(text),
}  # fmt: skip
_TRUTHS: Mapping[Term, bool] = {("fn", "Boolean", (("this", ("lit", "setting", str(v))),)): v for v in (True, False)}
_OPERANDS = frozenset(("left", "right", "this", "expression"))


class Closure:
    """Columns that others determine, and the aliases of sources of which they determine the row; `everything`: the
    whole row of the FROM is determined.
    """

    def __init__(self, columns: set[Term], whole: set[str], everything: bool) -> None:
        self.columns = columns
        self.whole = whole
        self.everything = everything


class Known:
    """The schema as the aliases of one query see it."""

    def __init__(self, schema: Schema, query: Query, dialect: Dialect) -> None:
        self.schema = schema
        self.dialect = dialect
        self.tables = {folded(table.name): table for table in schema.tables}
        self.sources = {s.alias: s for one in within(query) if isinstance(one, Select) for s in one.sources}
        self.table_of = {alias: source.table for alias, source in self.sources.items() if source.table}
        self._leaving: dict[str, list[ForeignKey]] = {}

    def leaving(self, table: str) -> list[ForeignKey]:
        """The foreign keys of a table, those over other tables included."""
        if table not in self._leaving:
            self._leaving[table] = _leaving(self.schema, table)
        return self._leaving[table]

    def kind(self, column: Term) -> str:
        """Kind of the values of a column with the affinity that its declaration gives it; "" if unknown, or if texts
        are equal there that are not the same.
        """
        spec = self.declared(column)
        return f"{spec.kind} {_kept_as(spec.declared_type)}" if spec is not None and not spec.collation else ""

    def caseless(self, column: Term) -> bool:
        """Whether the column compares texts without regard to the case of letters."""
        spec = self.declared(column)
        return spec is not None and "nocase" in spec.collation.lower().split(".")

    def sides_differ(self, query: Query) -> bool:
        """Whether a comparison or set operation may say another thing with its sides exchanged: SQLite goes by the
        collation of the left one.
        """
        if self.dialect != "sqlite" or not any(c.collation for table in self.tables.values() for c in table.columns):
            return False
        compared = [tuple(map(_uncast, term[1:])) for term in parts(query) if term[0] in COMPARED]
        sides = [both for both in compared if both[0][0] == both[1][0] == "col"]
        for one in within(query):
            if isinstance(one, Combined) and one.operation != "union all":
                sides += zip(*map(_outputs, one.branches), strict=True)
        return any(len(set(map(self._collation, both))) > 1 for both in sides)

    def _collation(self, term: Term) -> str:
        """By which a column compares texts, also one of a query in FROM; "" as of what is computed."""
        term = _uncast(term)
        source = self.sources.get(term[1]) if term[0] == "col" else None
        if source is not None and source.query is not None:
            return self._collation(_outputs(source.query)[source.columns.index(term[2])])
        spec = self.declared(term) if source is not None else None
        return spec.collation.lower() if spec is not None else ""

    def declared(self, column: Term) -> ColumnSpec | None:
        """A column of a table as the schema declares it."""
        table = self.tables.get(folded(self.table_of.get(column[1], "")))
        columns = table.columns if table is not None else ()
        return next((spec for spec in columns if folded(spec.name) == column[2]), None)

    def checks_of(self, *columns: Term) -> list[str]:
        """What its table checks of these columns of one source and no others."""
        table = self.tables.get(folded(self.table_of.get(columns[0][1], "")))
        checks = table.checks if table is not None else ()
        names = {column[2] for column in columns}
        return [check for check in checks if {*map(folded, columns_of(check))} == names]

    def interchangeable(self, one: Term, other: Term) -> bool:
        """Whether equal values of both columns are identical ones."""
        return bool(self.kind(one)) and self.kind(one) == self.kind(other)


def _uncast(term: Term) -> Term:
    """What a CAST is of: it compares as its column does."""
    while term[:2] == ("fn", "Cast"):
        term = dict(term[2])["this"]
    return term


def _outputs(query: Query) -> tuple[Term, ...]:
    """The outputs of a query, of a set operation those of its first branch."""
    return _outputs(query.branches[0]) if isinstance(query, Combined) else query.outputs


def _kept_as(declared: str) -> str:
    """How SQLite keeps a value under a declared type, INTEGER and NUMERIC alike.

    REAL is one of its own: it holds 1 as 1.0, which is another number under `/` and another text.
    """
    return affinity(declared).replace("INTEGER", "NUMERIC")


class Facts:
    """What holds of every row of one SELECT, by the schema and by its own conditions."""

    def __init__(self, known: Known, select: Select) -> None:
        self.known = known
        self.tables = known.tables
        self.schema = known.schema
        self.sources = {source.alias: source for source in select.sources}
        self.select = select
        self.not_null = {column for term in select.where for column in rejecting(term)}
        self.classes = classes_of(select, known.interchangeable)

    def spec(self, alias: str) -> TableSpec | None:
        source = self.sources.get(alias)
        return self.tables.get(folded(source.table)) if source is not None and source.table else None

    def declared(self, column: Term) -> bool:
        """Never NULL by declaration, in a source that always has its row."""
        source, spec = self.sources.get(column[1]), self.spec(column[1])
        if source is None or source.left:
            return False
        if isinstance(source.query, Select):
            inner = source.query
            output = inner.outputs[source.columns.index(column[2])]
            if output[0] == "agg":
                return bool(output[1] == "count")
            return output[0] == "col" and not totalled(inner) and Facts(self.known, inner).never_null(output)
        if spec is None:
            return False
        return any(folded(c.name) == column[2] and not c.nullable for c in spec.columns)

    def never_null(self, column: Term) -> bool:
        return column in self.not_null or self.declared(column)

    def known_in_partners(self, column: Term) -> bool:
        """Whether a column of a LEFT JOINed source is NULL only where there is no partner."""
        source, spec = self.sources[column[1]], self.spec(column[1])
        if spec is not None and any(folded(c.name) == column[2] and not c.nullable for c in spec.columns):
            return True
        return any(column in rejecting(term) for term in source.on)

    def equal(self, one: Term, other: Term) -> bool:
        return one == other or other in self.classes.get(one, ())

    def foreign_keys(self, child: From, parent: From) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """(columns, referred columns), in lower case, of enforced foreign keys to a unique key of the parent: those
        that are declared, and those over a table between, whose key refers on to the parent.
        """
        spec = self.tables.get(folded(parent.table))
        if spec is None:
            return
        for key in self.known.leaving(folded(child.table)):
            if folded(key.ref_table) == folded(parent.table) and spec.is_unique(key.ref_columns):
                yield tuple(map(folded, key.columns)), tuple(map(folded, key.ref_columns))

    def refers(self, child: str, parent: From, joined: dict[str, str]) -> bool:
        """Whether `joined` (parent column -> child column) is exactly an enforced foreign key."""
        source = self.sources.get(child)
        if source is None or source.left or not source.table or not parent.table:
            return False
        return any(dict(zip(theirs, mine, strict=True)) == joined for mine, theirs in self.foreign_keys(source, parent))

    def one_partner(self, source: From) -> bool:
        """Whether ON binds a whole key of a LEFT JOINed source to columns from elsewhere."""
        spec = self.tables.get(folded(source.table)) if source.table else None
        if spec is None:
            return False
        bound = set()
        for term in source.on:
            if term[0] == "=":
                for mine, theirs in ((term[1], term[2]), (term[2], term[1])):
                    own = mine[0] == "col" and mine[1] == source.alias
                    if own and (theirs[0] == "lit" or self._binds(mine, theirs)):
                        bound.add(mine[2])
        return any(key and {folded(name) for name in key} <= bound for key in spec.keys)

    def _binds(self, mine: Term, theirs: Term) -> bool:
        return theirs[0] == "col" and theirs[1] != mine[1] and self.known.interchangeable(mine, theirs)

    def closure(self, start: Iterable[Term], known: Term | None = None) -> Closure:
        """All columns that `start` determines. `known`: a column whose NULL rows do not count."""
        columns = {term for term in start if term[0] == "col"}
        whole: set[str] = set()
        for term in self.select.where:
            if term[0] == "=":
                for mine, theirs in ((term[1], term[2]), (term[2], term[1])):
                    outside = theirs[0] == "col" and theirs[1] not in self.sources
                    if mine[0] == "col" and mine[1] in self.sources and (theirs[0] == "lit" or outside):
                        columns.add(mine)
        while True:
            size = len(columns) + len(whole)
            for column in list(columns):
                columns |= self.classes.get(column, set())
            columns |= self._of_partner(columns, known)
            for alias, source in self.sources.items():
                if alias not in whole and self._whole(source, columns, known):
                    whole.add(alias)
                    columns |= {("col", alias, name) for name in source.columns}
                columns |= self._same_partner(source, columns, whole)
            if len(columns) + len(whole) == size:
                return Closure(columns, whole, whole == set(self.sources))

    def _of_partner(self, columns: set[Term], known: Term | None) -> set[Term]:
        """What ON equates with `columns`, where a LEFT JOINed source has a row: others do not count for `known`."""
        source = self.sources.get(known[1]) if known is not None and known in columns else None
        pairs = [pair for term in source.on if (pair := equated(term)) is not None] if source and source.left else []
        sides = [*pairs, *((theirs, mine) for mine, theirs in pairs)]
        return {t for m, t in sides if m in columns and self.known.interchangeable(m, t)}

    def identify(self, outputs: Iterable[Term]) -> bool:
        return self.closure(outputs).everything

    def _whole(self, source: From, columns: set[Term], known: Term | None) -> bool:
        spec = self.spec(source.alias)
        if spec is None:
            return self._group(source, columns)
        if source.left:
            never = {folded(c.name) for c in spec.columns if not c.nullable}
            if any(("isnull", ("col", source.alias, name)) in self.select.where for name in never):
                return True  # there is no partner
            partner = known is not None and known[1] == source.alias and known in columns  # others do not count
            asked = {c for c in columns_in(source.on) if c[1] in self.sources and c[1] != source.alias}
            if not partner and not asked <= columns:
                return False  # whether there is a partner hangs on more than is known
            others = [term for term in source.on if equated(term) is not None]
            bound = set()
            for term in others:
                for mine, theirs in ((term[1], term[2]), (term[2], term[1])):
                    if mine[1] == source.alias and theirs in columns and self._binds(mine, theirs):
                        bound.add(mine[2])
            if partner:
                always = {folded(c.name) for c in spec.columns if not c.nullable}
                bound |= {c[2] for c in columns if c[1] == source.alias and (c == known or c[2] in always)}
            return any(key and {folded(name) for name in key} <= bound for key in spec.keys)
        held = self._held(source.alias, spec) if spec.partial_keys else {}
        keys = [*spec.keys, *(key for key, condition in spec.partial_keys if meets(condition, held))]
        for key in keys:
            names = [("col", source.alias, folded(name)) for name in key]
            if names and all(n in columns and (n == known or self.never_null(n)) for n in names):
                return True
        return False

    def _held(self, alias: str, spec: TableSpec) -> dict[str, Cell]:
        """The columns of a source that WHERE holds to one value, as the table spells them, with that value."""
        written = {("col", alias, folded(column.name)): column for column in spec.columns}
        flags = {term for term, column in written.items() if column.declared_type.upper() in ("BOOLEAN", "BOOL")}
        held: dict[str, Cell] = {}
        for term in self.select.where:
            if term[0] == "isnull" and term[1] in written:
                held[written[term[1]].name] = None
            if term in flags and self.known.dialect == "duckdb":  # in SQLite it may be any number
                held[written[term].name] = True
            for mine, theirs in ((term[1], term[2]), (term[2], term[1])) if term[0] == "=" else ():
                if mine in written and theirs[0] == "lit" and theirs[1] in _CONSTANTS:
                    held[written[mine].name] = _CONSTANTS[theirs[1]](theirs[2])
                elif mine in flags and theirs in _TRUTHS:
                    held[written[mine].name] = _TRUTHS[theirs]
        return held

    def _group(self, source: From, columns: set[Term]) -> bool:
        """Whether `columns` name one row of a derived table: a group has one row, a DISTINCT row comes once, and any
        other is one row of the FROM within.
        """
        inner = source.query
        if source.left or not isinstance(inner, Select) or totalled(inner):
            return False
        outputs = zip(source.columns, inner.outputs, strict=True)
        seen = [term for name, term in outputs if ("col", source.alias, name) in columns]
        if inner.distinct and len(seen) == len(inner.outputs):
            return True
        determined = Facts(self.known, inner).closure(seen)
        if inner.group:
            return all(term in seen or term in determined.columns for term in inner.group)
        return bool(inner.sources) and not inner.distinct and determined.everything

    def _same_partner(self, source: From, columns: set[Term], whole: set[str]) -> set[Term]:
        """Columns of a LEFT JOINed source that ON equates with `columns`: once the row that it is joined to is known,
        all its partners hold the same there, or NULL stands in the only row.
        """
        before = list(self.sources)[: list(self.sources).index(source.alias)]
        if not source.left or not set(before) <= whole:
            return set()
        pairs = [pair for term in source.on if (pair := equated(term)) is not None]
        sides = [*pairs, *((theirs, mine) for mine, theirs in pairs)]
        return {m for m, t in sides if m[1] == source.alias and t in columns and self._binds(m, t)}


def _leaving(schema: Schema, table: str) -> list[ForeignKey]:
    """The foreign keys that leave a table, and what they refer to over others: `a` refers to `c` where a column of it
    refers to a key of `b` that refers to `c`. Of several columns, the others must be never NULL.
    """
    found = [key for key in schema.foreign_keys if folded(key.table) == table]
    for key in found:  # grows
        for further in schema.foreign_keys:
            names = dict(zip(key.ref_columns, key.columns, strict=True))
            if folded(further.table) != folded(key.ref_table) or not set(further.columns) <= set(names):
                continue
            mine = tuple(names[column] for column in further.columns)
            spec = schema.by_name[key.table].by_name
            if any(spec[column].nullable for column in key.columns if column not in mine):
                continue
            made = ForeignKey(key.table, mine, further.ref_table, further.ref_columns)
            if made not in found:
                found.append(made)
    return found


def classes_of(select: Select, interchangeable: Callable[[Term, Term], bool] | None) -> dict[Term, set[Term]]:
    """The columns that stand for each other by the conditions of a SELECT, by each of them; without a rule none do."""
    found: dict[Term, set[Term]] = {}
    for term in select.where:
        pair = equated(term)
        if pair is not None and interchangeable is not None and interchangeable(*pair):
            together = found.get(pair[0], {pair[0]}) | found.get(pair[1], {pair[1]})
            found |= dict.fromkeys(together, together)
    return found


def equated(term: Term) -> tuple[Term, Term] | None:
    """The two columns of an equality of columns."""
    if term[0] == "=" and term[1][0] == "col" and term[2][0] == "col":
        return term[1], term[2]
    return None


def operands(term: Term) -> Iterator[Term]:
    """A term and the terms whose NULL makes it NULL: of `price * stock` both columns."""
    yield term
    if term[0] == "fn" and term[1] in _CARRYING:
        for slot, value in term[2]:
            if slot in _OPERANDS:
                yield from operands(value)
    if term[:2] == ("fn", "Anonymous") and dict(term[2])["this"] in _OF_DATES:
        for value in dict(term[2]).get("expressions", ()):
            yield from operands(value)


def carried(term: Term) -> set[Term]:
    """Columns whose NULL makes a value NULL."""
    return {part for part in operands(term) if part[0] == "col"}


def rejecting(term: Term) -> set[Term]:
    """Columns that cannot be NULL where a condition is true."""
    if term[0] in ("=", "<>", "<", "<="):
        return set().union(*(carried(side) for side in term[1:]))
    if term[0] == "in":
        return {term[1]} if term[1][0] == "col" else set()
    if term[0] == "not" and term[1][0] == "isnull" and term[1][1][0] == "col":
        return {term[1][1]}
    inner = term[1] if term[0] == "not" else term
    if inner[0] == "fn" and inner[1] == "Like":
        return {value for slot, value in inner[2] if slot == "this" and value[0] == "col"}
    if term[0] == "or":
        return set.intersection(*(rejecting(part) for part in term[1]))
    if term[0] == "and":
        return set().union(*(rejecting(part) for part in term[1]))
    return set()
