"""Are the values that a query compares with in the data at all, and if not, what is there instead?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from sqlglot import exp

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.quoting import quoted
from agro_data.databases.types import Cell, Database, Dialect
from agro_data.pairs.finding import Finding
from agro_data.pairs.mending import respelt
from agro_data.sql.forms.canonical import sql_text
from agro_data.sql.names.resolution import Resolution, value_of
from agro_data.verify.execution import execute

ALIKE = 0.8  # of the letters of two values, from which one may be a slip for the other
LOOKED_AT = 5_000  # distinct values of a column among which a near one is sought


@dataclass(frozen=True)
class Use:
    """A value that a column of a table is compared with: by `=`, `<>`, `IN` or `LIKE`."""

    table: str
    column: str
    value: str
    text: bool  # a string, not a number
    condition: str  # as SQL on the bare column

    @property
    def probe(self) -> str:
        return f"SELECT 1 FROM {quoted(self.table)} WHERE {self.condition} LIMIT 1"

    @property
    def values(self) -> str:
        return f"SELECT DISTINCT {quoted(self.column)} FROM {quoted(self.table)} LIMIT {LOOKED_AT}"


def uses_of(found: Resolution, dialect: Dialect) -> dict[Use, list[exp.Expr]]:
    """Every literal that stands against a column of a table, in the order of the SQL, with the nodes that it is."""
    uses: dict[Use, list[exp.Expr]] = defaultdict(list)
    for use, literal in _uses(found, dialect):
        uses[use].append(literal)
    return uses


def _uses(found: Resolution, dialect: Dialect) -> Iterator[tuple[Use, exp.Expr]]:
    for node in found.tree.find_all(exp.EQ, exp.NEQ, exp.In, exp.Like, exp.ILike):
        sides = [(node.this, value) for value in node.expressions] if isinstance(node, exp.In) else []
        if not isinstance(node, exp.In):
            sides = [(node.this, node.expression), (node.expression, node.this)]
        for column, value in sides:
            owner = found.binding(column) if isinstance(column, exp.Column) else None
            literal = value_of(value, found)
            if owner is None or owner.kind != "column" or owner.source is None or literal is None:
                continue
            if not owner.source.table:
                continue
            name = owner.source.columns[owner.name]
            right = sql_text(literal, dialect)
            word = "ILIKE" if isinstance(node, exp.ILike) else "LIKE" if isinstance(node, exp.Like) else "="
            condition = f"{quoted(name)} {word} {right}"
            value_text = literal.name if literal.is_string else right
            yield Use(owner.source.table, name, value_text, literal.is_string, condition), value


def check_literals(database: Database, names: Mapping[str, Resolution], sandbox: Sandbox) -> dict[str, list[Finding]]:
    """Findings of each statement: values that no row has, with the nearest that one has."""
    uses = {sql: uses_of(found, database.dialect) for sql, found in names.items()}
    every = list(dict.fromkeys(use for some in uses.values() for use in some))
    there = dict(zip(every, execute([(database, use.probe) for use in every], sandbox), strict=True))
    absent = [use for use in every if there[use].ok and there[use].row_count == 0]
    columns = execute([(database, use.values) for use in absent], sandbox, "rows")
    findings: dict[str, list[Finding]] = {sql: [] for sql in names}
    values = {use: [row[0] for row in result.rows] for use, result in zip(absent, columns, strict=True) if result.ok}
    for sql, some in uses.items():
        for use, literals in some.items():
            if use in values:
                finding, instead = _finding(use, values[use])
                mended = respelt(names[sql], literals, instead, database.dialect) if instead else ""
                findings[sql].append(replace(finding, mended=mended))
    return findings


def _finding(use: Use, values: Sequence[Cell]) -> tuple[Finding, str]:
    """The finding for an absent value, and the value of the column that is meant; "" if that is not certain."""
    where = f"{use.table}.{use.column}"
    value = repr(use.value) if use.text else use.value
    texts = [value for value in values if isinstance(value, str)]
    pattern = " LIKE " in use.condition
    if pattern and use.value.strip("%_"):
        return Finding("literal_absent", f"No value of {where} is like {value}.", use.probe), ""
    same = [value for value in texts if _plain(value) == _plain(use.value)]
    if use.text and same:
        says = f"No row has {where} = {value}; the data have {same[0]!r}."
        return Finding("literal_other_case", says, use.probe), same[0] if len(same) == 1 else ""
    near = _nearest(use.value, texts) if use.text else ""
    if near:
        says = f"No row has {where} = {value}; the data have {near!r}."
        others = [text for text in texts if text != near]
        sure = len(values) < LOOKED_AT and not _nearest(use.value, others)
        return Finding("literal_misspelt", says, use.probe), near if sure else ""
    return Finding("literal_absent", f"No row has {where} = {value}.", use.probe), ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _nearest(value: str, texts: Sequence[str]) -> str:
    """The most alike of the values, if it is alike enough and no other number."""
    best, share = "", ALIKE
    wanted = _plain(value)
    digits = _digits(wanted)
    for text in texts:
        matcher = SequenceMatcher(None, _plain(text), wanted)
        if matcher.real_quick_ratio() > share and matcher.ratio() > share and _digits(text) == digits:
            best, share = text, matcher.ratio()
    return best


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())
