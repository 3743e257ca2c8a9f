"""Predictions without a name: lines of SQL, and one list of texts. How many there are decides what they belong to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from agro_data.databases.discovery.identity import meant_among
from agro_data.evaluation.fields import PREDICTED, predicted_in
from agro_data.rows import BIRD_MARK, Item, Row, begins_sql, sql_fields

TOGETHER = "statements of several lines are read as one each; official scripts read one a line"


def as_many(items: Sequence[Item], databases: Collection[str], questions: int) -> tuple[list[Item], list[str]]:
    """The rows of a file for so many questions about these databases, and notes for a person.

    Where there are not as many lines as questions, blank ones do not count; semicolons at the ends of lines separate
    statements, or what begins one does, if that makes as many. Of one row with as many predictions each is one row.
    """
    rows = _whole_lines(items, databases)
    if len(rows) != questions:
        rows = [item for item in rows if not _is_blank(item)]
    if len(rows) == questions:
        return rows, []
    if len(rows) == 1 and isinstance(rows[0], Row) and questions > 1:
        texts = predicted_in(rows[0].fields, PREDICTED)
        if len(texts) == questions:
            return [Row(f"{rows[0].place}, {n}", {"pred": text}) for n, text in enumerate(texts, 1)], []
    lines = [row for row in rows if isinstance(row, Row) and row.line is not None]
    if len(lines) == len(rows):
        for ends in (_ends_at_semicolon, _ends_before_statement):
            joined = [_joined(part) for part in _parts(lines, ends)]
            if len(joined) == questions:
                return _whole_lines(joined, databases), [TOGETHER]
    return rows, []


def goes_on(items: Sequence[Item]) -> str:
    """The place of the first line of SQL that seems to go on a statement of the line before; "" for none."""
    lines = [(row.place, row.line) for row in items if isinstance(row, Row) and row.line is not None]
    return next((place for place, line in lines[1:] if not begins_sql(line)), "")


def _ends_at_semicolon(row: Row, following: Row) -> bool:
    return (row.line or "").rstrip().endswith(";")


def _ends_before_statement(row: Row, following: Row) -> bool:
    line = following.line or ""
    return not line[:1].isspace() and begins_sql(line)


def _parts(lines: Sequence[Row], ends: Callable[[Row, Row], bool]) -> Iterator[list[Row]]:
    part: list[Row] = []
    for row, following in zip(lines, [*lines[1:], None], strict=True):
        part.append(row)
        if following is None or ends(row, following):
            yield part
            part = []


def _joined(part: Sequence[Row]) -> Row:
    text = "\n".join((row.line or "").rstrip("\r") for row in part)
    return replace(part[0], line=text, fields=sql_fields(text))


def _whole_lines(items: Sequence[Item], databases: Collection[str]) -> list[Item]:
    """If not all lines of SQL name a database, a text behind a tab that is no database belongs to the statement."""
    if all(isinstance(item, Row) and "db_id" in item.fields for item in items if not _is_blank(item)):
        return list(items)
    meant = meant_among(databases)
    there = set(map(meant, databases))
    return [
        _whole_line(item) if isinstance(item, Row) and meant(item.fields.get("db_id", "")) not in there else item
        for item in items
    ]


def _whole_line(row: Row) -> Row:
    if row.line is None or BIRD_MARK in row.line:
        return row
    return replace(row, fields={"sql": row.line.strip()})


def _is_blank(item: Item) -> bool:
    return isinstance(item, Row) and item.line is not None and not item.line.strip()
