"""Rows of a file, whatever its form: JSON, JSONL, CSV, TSV, Parquet, and the official evaluators' lines of SQL.

A row that cannot be read is a problem with its place, and the others go on. Nothing here knows what a row means.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from agro_data.config import ConfigError
from agro_data.databases.files.data_files import is_utf8

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
LINES = (".sql", ".txt")  # one statement a line
BIRD_MARK = "\t----- bird -----\t"  # between SQL and db_id in BIRD's prediction files
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UTF8_CHARACTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
# How packed files begin. "BZh" could be a word of a text: what follows are the digits of pi, or of its root at the end.
_PACKED = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "zip": re.compile(rb"PK\x03\x04"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}
WESTERN = "cp1252"  # Windows' code page, which Microsoft and people call Windows-1252
_SQL = re.compile(r"\s*(?:\Z|null\s*\Z|(?:select|with|values)\b|\()", re.IGNORECASE)  # or that there is none
_NO_JSON = (ValueError, RecursionError)  # the second where lists are nested thousands deep
_LONGEST = 2**30  # characters of a CSV field


class UnreadableInput(ConfigError):
    """A file or folder that holds no row that could be used; the text says what was expected."""


@dataclass(frozen=True)
class Row:
    """One row: `place` is what a person looks for ("dev.json, row 3"), `fields` are its columns as they stand there.

    `number` is its key in BIRD's object: the number of its question, from 0. `line` is the whole line of a file of SQL.
    """

    place: str
    fields: dict[str, Any]
    number: int | None = None
    line: str | None = None


@dataclass(frozen=True)
class LoadProblem:
    """A row, or a whole file, that was left out, and why."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


Item = Row | LoadProblem


def read_rows(path: Path) -> list[Item]:
    """Rows of one file, in its order, and a `LoadProblem` in the place of each that cannot be read.

    Lines of SQL have the fields "sql" and, after a tab, "db_id"; a blank line is a row too, with an empty "sql". In
    JSON a list of objects or texts is expected, an object of such lists, whose rows follow each other, BIRD's object
    from number to SQL, or one from id to SQL; a text is a row with the field "sql". Raises `UnreadableInput` when the
    file as a whole cannot be read.
    """
    suffix = path.suffix.lower()
    if not path.is_file():
        raise UnreadableInput(f"{path}: {'is a folder, a file was expected' if path.is_dir() else 'no such file'}")
    if not is_utf8(path.name):  # no file of results could name the place of a row
        raise UnreadableInput(f"{path}: its name is not UTF-8; rename it")
    if suffix not in SUFFIXES + LINES:
        _check_unpacked(path)
        raise UnreadableInput(f"{path}: {suffix or 'no'} extension; expected one of {', '.join(SUFFIXES + LINES)}")
    try:
        if suffix == ".parquet":
            rows = pl.read_parquet(path, glob=False).iter_rows(named=True)
            return [_row(path, n, fields) for n, fields in enumerate(rows, 1)]
        text = decoded(path.read_bytes(), path)
    except (OSError, PolarsError) as error:
        raise UnreadableInput(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    if not text.strip():
        return []
    if suffix == ".json":
        return list(_json(path, text))
    if suffix in (".jsonl", ".ndjson"):
        return list(_json_lines(path, text))
    if suffix in (".csv", ".tsv"):
        with long_cells():
            return list(_cells(path, text))
    return list(_sql_lines(path, text))


def marked_encoding(data: bytes) -> str:
    """The encoding that a file's byte order mark says, and that writes one; "" where there is none."""
    return next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "")


def decoded(data: bytes, path: Path) -> str:
    """Text of a file: by its byte order mark, else UTF-8, else Windows' western code page.

    Raises `UnreadableInput` where it is none of these: one byte that is not UTF-8 makes no code page of a file with
    characters that are written in several, as only UTF-8 writes them. No packed file is one either.
    """
    _check_unpacked(path, data)
    encoding = marked_encoding(data) or (WESTERN if is_western(data) else "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line, byte = data.count(b"\n", 0, error.start) + 1, f"byte 0x{data[error.start]:02x}"
        what = f"cannot be read as {encoding} ({byte}: {error.reason})"
        if encoding == WESTERN:
            what = f"is neither UTF-8 nor Windows-1252 ({byte})"
        raise UnreadableInput(f"{path}: line {line:,} {what}; save the file as UTF-8") from error


def _check_unpacked(path: Path, data: bytes = b"") -> None:
    """Raise `UnreadableInput` for a file that begins as packed ones do, whatever it is called."""
    if not data:
        with suppress(OSError), path.open("rb") as file:
            data = file.read(16)
    packed = next((name for name, begin in _PACKED.items() if begin.match(data)), "")
    if packed:
        raise UnreadableInput(
            f"{path}: is packed ({packed}), and text was expected; unpack it, and give what was in it"
        )


def is_western(data: bytes) -> bool:
    """Whether a file is taken for one of Windows' western code page: text, not UTF-8, nor anything of it."""
    if data.isascii() or marked_encoding(data) or b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return not _UTF8_CHARACTER.search(data)
    return False


def _row(path: Path, number: int, fields: dict[str, Any], unit: str = "row") -> Row:
    return Row(f"{path.name}, {unit} {number}", fields)


def _json(path: Path, text: str) -> Iterator[Item]:
    try:
        content = json.loads(text)
    except _NO_JSON as error:
        if _looks_like_lines(text):
            yield from _json_lines(path, text)
            return
        raise UnreadableInput(f"{path}: not JSON: {error}") from error
    yield from (item for _, _, item in json_places(path, [content]))


def json_places(path: Path, held: list[Any]) -> Iterator[tuple[Any, Any, Item]]:
    """Rows of the JSON value in `held`, each with the list or object that it stands in and its index or key there."""
    [content] = held
    if content == {}:
        return
    if isinstance(content, dict) and content and all(key.isdecimal() for key in content):
        for key in sorted(content, key=int):
            item = _item(path, int(key), content[key], "number")
            yield content, key, replace(item, number=int(key)) if isinstance(item, Row) else item
        return
    if isinstance(content, dict) and _is_sql_by_id(content):
        for key, sql in content.items():
            yield content, key, Row(f"{path.name}, id {key}", {"id": key, **sql_fields(sql or "")})
        return
    lists = [content] if isinstance(content, list) else _lists_in(content) or [held]
    if not isinstance(content, dict | list):
        raise UnreadableInput(f"{path}: expected a list of objects, found {kind_of(content)}")
    places = ((rows, index) for rows in lists for index in range(len(rows)))
    for number, (rows, index) in enumerate(places, 1):
        yield rows, index, _item(path, number, rows[index], "row")


def _is_sql_by_id(content: dict[str, Any]) -> bool:
    """An object from id to SQL, some of it missing or odd. A row has more that is no SQL: a question, a database."""
    texts = all(value is None or isinstance(value, str) for value in content.values())
    sql = sum(begins_sql(value or "") for value in content.values()) if texts else 0
    return sql > 0 and 10 * sql >= 9 * len(content)


def _looks_like_lines(text: str) -> bool:
    """JSON Lines under the name of JSON: its first line is a whole object."""
    try:
        return isinstance(json.loads(text.lstrip().partition("\n")[0]), dict)
    except _NO_JSON:
        return False


def _lists_in(content: Any) -> list[list[Any]]:
    """The lists of objects in an object, whose rows follow each other."""
    values = content.values() if isinstance(content, dict) else ()
    return [value for value in values if isinstance(value, list) and any(isinstance(one, dict) for one in value)]


def _item(path: Path, number: int, item: Any, unit: str) -> Item:
    if isinstance(item, dict):
        return _row(path, number, item, unit)
    if isinstance(item, str):
        return _row(path, number, sql_fields(item), unit)
    if isinstance(item, list) and all(isinstance(one, str) for one in item):
        return _row(path, number, {"sql": item}, unit)
    return LoadProblem(f"{path.name}, {unit} {number}", f"expected an object, or SQL as a text, found {kind_of(item)}")


def kind_of(value: Any) -> str:
    """What a value of JSON is, as a person calls it who knows no Python."""
    if value is None:
        return "null"
    kinds = {bool: "true or false", str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)


def _json_lines(path: Path, text: str) -> Iterator[Item]:
    # Not splitlines: a JSON text may hold U+2028 and its like, which are no ends of lines there.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except _NO_JSON as error:
            yield LoadProblem(f"{path.name}, line {number}", f"not JSON: {error}")
            continue
        yield _item(path, number, item, "line")


def separated_by(path: Path, text: str) -> tuple[str, bool]:
    """What separates the cells of a table of text, and whether quotation marks quote them.

    Between tabs many tools quote nothing: where not every mark fits a quoted cell, marks are text as any other.
    """
    header = text[: text.find("\n")] if "\n" in text else text
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=header.count)
    if delimiter != "\t":
        return delimiter, True
    try:
        with long_cells():
            deque(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), maxlen=0)
    except csv.Error:
        return delimiter, False
    return delimiter, True


@contextmanager
def long_cells() -> Iterator[None]:
    """Cells of any length can be read, as long as this lasts."""
    before = csv.field_size_limit(_LONGEST)  # of the whole process: other readers keep theirs
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _cells(path: Path, text: str) -> Iterator[Item]:
    delimiter, quoted = separated_by(path, text)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    names: list[str] = []
    number = 0
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield _no_row(path, line, reader.line_num, error)
            continue
        if not names:
            names = [cell.strip() for cell in cells]
            if twice := next((name for name in names if name and names.count(name) > 1), ""):
                raise UnreadableInput(f"{path}: two columns are called {twice!r}; rename one, or take it out")
            continue
        if not cells:
            continue
        number += 1
        if len(cells) != len(names):
            why = f"{len(cells)} cells, expected {len(names)} ({', '.join(names)})"
            yield LoadProblem(f"{path.name}, row {number} (line {reader.line_num})", why)
        else:
            yield _row(path, number, dict(zip(names, cells, strict=True)))


def _no_row(path: Path, first: int, last: int, error: csv.Error) -> LoadProblem:
    """Lines that a quotation mark without its partner makes one row of. Raises `UnreadableInput` where it does so to
    the end of the file, which would then pass for a shorter one."""
    if "end of data" in str(error):
        raise UnreadableInput(
            f"{path}: a quotation mark at or after line {first:,} has no partner, and all that follows would be one "
            "cell; write marks within a cell twice, and quote that cell"
        )
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    return LoadProblem(f"{path.name}, {lines}", f"{error}; marks within a quoted cell are written twice")


def _sql_lines(path: Path, text: str) -> Iterator[Item]:
    lines = text.removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        yield replace(_row(path, number, sql_fields(line.rstrip("\r")), "line"), line=line)


def begins_sql(line: str) -> bool:
    """Whether a statement may begin here, or nothing stands here."""
    return _SQL.match(line) is not None


def sql_fields(text: str) -> dict[str, Any]:
    """Statement and db_id of a line; the last tab separates them when one word follows it."""
    if BIRD_MARK in text:
        sql, db_id = text.split(BIRD_MARK, 1)
        return {"sql": sql.strip(), "db_id": db_id.strip()}
    sql, tab, db_id = text.rpartition("\t")
    if tab and sql.strip() and len(db_id.split()) == 1:
        return {"sql": sql.strip(), "db_id": db_id.strip()}
    return {"sql": text.strip()}
