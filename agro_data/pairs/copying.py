"""A corrected copy of a file of pairs, in the layout in which it was given, its line ends and byte order mark included.

A changed row keeps its old text in a field of its own, `<field>_original`. Files of lines have no fields: beside their
copy lies the file as it was. A row of JSON that is a plain text stays one, and does not keep its old text. A file in
which no row is changed is copied to the byte, so that what an earlier run mended does not stay.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from agro_data.config import ConfigError
from agro_data.evaluation.fields import SQL, field_of, listed
from agro_data.evaluation.load import ORIGINAL, files_of
from agro_data.files import atomic_path
from agro_data.rows import (
    BIRD_MARK,
    LINES,
    Row,
    decoded,
    json_places,
    marked_encoding,
    read_rows,
    separated_by,
)

PARSED = ("query_toks", "query_toks_no_value", "sql")  # what Spider's files also say of the SQL: untrue once it changes


def corrected_copy(source: Path, folder: Path, changed: Mapping[str, str]) -> list[Path]:
    """Copies in `folder` of the file (or of each file with pairs of the folder) `source`; gives their paths.

    `changed` is new SQL by the place of a row, as `rows.read_rows` names it. The source is never written:
    raises `ConfigError` when `folder` holds it.
    """
    written: list[Path] = []
    for file in files_of(source)[0]:
        target = folder / file.name
        if target.exists() and target.samefile(file):
            raise ConfigError(f"{folder}: holds {file.name} itself, which is never changed; give another folder")
        places = {item.place: item for item in read_rows(file) if isinstance(item, Row)}
        mine = {place: sql for place, sql in changed.items() if place in places}
        as_it_was = copies(file, folder)[1:]
        if mine:
            _mend(file, target, mine)
        for copy in as_it_was if mine else [target, *as_it_was]:
            with atomic_path(copy) as temporary:
                shutil.copyfile(file, temporary)
        written += [target, *as_it_was]
    return written


def copies(file: Path, folder: Path) -> list[Path]:
    """The path of a file's corrected copy; for a file of lines, also the path of its unchanged copy."""
    target = folder / file.name
    return [target, *([target.with_name(f"{target.stem}{ORIGINAL}{target.suffix}")] if _of_lines(file) else [])]


def _of_lines(file: Path) -> bool:
    return file.suffix.lower() in LINES


def _mend(file: Path, target: Path, changed: Mapping[str, str]) -> None:
    """Write `file` at `target` with its changed rows."""
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        _copy_parquet(file, target, changed)
        return
    data = file.read_bytes()
    text = decoded(data, file)
    ends = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    if suffix in (".csv", ".tsv"):
        mended = _separated(file, text, changed, ends)
    elif _of_lines(file):
        mended = _lines(file, text, changed)
    elif suffix == ".json" and _is_json(text):
        mended = _json(file, text, changed).replace("\n", ends)
    else:
        mended = _json_lines(file, text, changed)
    with atomic_path(target) as temporary:
        temporary.write_bytes(mended.encode(marked_encoding(data) or "utf-8"))


def with_sql(fields: Mapping[str, Any], sql: str) -> dict[str, Any]:
    """A row with new SQL, the old beside it unless an older one is; what was derived from the old goes there too."""
    field = field_of(fields, SQL, lists=True)
    original = f"{field}{ORIGINAL}"
    row: dict[str, Any] = {}
    for name, value in fields.items():
        if name == field:
            golds = listed(value)
            new = [sql, *golds[1:]] if isinstance(golds, list | tuple) else sql  # of several golds the first is mended
            if isinstance(value, str) and not isinstance(new, str):
                new = json.dumps(new, ensure_ascii=False)  # a cell
            row |= {name: new, original: fields.get(original) or value}
        elif name.lower() in PARSED and value is not None and not isinstance(value, str):
            row[f"{name}{ORIGINAL}"] = value
        elif name != original:
            row[name] = value
    return row


# --- layouts -----------------------------------------------------------------------------------------------------


def _is_json(text: str) -> bool:
    """Whether the text is one JSON value: files called .json may hold JSON Lines."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _json(file: Path, text: str, changed: Mapping[str, str]) -> str:
    held = [json.loads(text)]
    for rows, key, item in [*json_places(file, held)]:
        if isinstance(item, Row) and item.place in changed:
            rows[key] = _row(rows[key], changed[item.place])
    return _dumped(held[0], indent=2 if "\n" in text.strip() else None) + "\n"


def _row(row: Any, sql: str) -> Any:
    """A row of JSON, an object or a text, with new SQL."""
    return _text(row, sql) if isinstance(row, str) else with_sql(row, sql)


def _text(text: str, sql: str) -> str:
    """A text that is a row, with new SQL before whatever names its database."""
    if BIRD_MARK in text:
        return f"{sql}{BIRD_MARK}{text.partition(BIRD_MARK)[2]}"
    _, tab, database = text.rpartition("\t")
    return f"{sql}{tab}{database if tab else ''}"


def _dumped(value: Any, indent: int | None = None) -> str:
    """JSON that UTF-8 can hold: half a character is escaped, as it was."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _json_lines(file: Path, text: str, changed: Mapping[str, str]) -> str:
    """Lines that are not changed stay as they are, to the byte."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        sql = changed.get(f"{file.name}, line {number}")
        if sql is not None:
            lines[number - 1] = _dumped(_row(json.loads(line), sql)) + _end(line)
    return "\n".join(lines)


def _separated(file: Path, text: str, changed: Mapping[str, str], ends: str) -> str:
    """Rows get a cell more, empty where nothing changed. Rows that cannot be read are left out, and listed."""
    delimiter, quoted = separated_by(file, text)  # without quotes a cell holds no line break
    one_line = {place: " ".join(sql.split()) for place, sql in changed.items()}
    names, rows = _table(file, changed if quoted else one_line)
    held = io.StringIO()
    writer = csv.DictWriter(
        held,
        names,
        restval="",
        delimiter=delimiter,
        lineterminator=ends,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        quotechar='"' if quoted else None,
    )
    writer.writeheader()
    writer.writerows(new for _, new in rows)
    return held.getvalue()


def _copy_parquet(file: Path, target: Path, changed: Mapping[str, str]) -> None:
    """Columns in which nothing changed stay as they are."""
    frame = pl.read_parquet(file, glob=False)
    names, rows = _table(file, changed)
    touched = [name for name in names if any(new.get(name) is not old.get(name) for old, new in rows)]
    kinds = {name: frame.schema.get(name, frame.schema[name.removesuffix(ORIGINAL)]) for name in touched}
    plain = {name: pl.String if kind in (pl.Categorical, pl.Enum, pl.Null) else kind for name, kind in kinds.items()}
    columns = [pl.Series(name, [new.get(name) for _, new in rows], dtype=plain[name]) for name in touched]
    with atomic_path(target) as temporary:
        frame.with_columns(columns).write_parquet(temporary)


def _table(file: Path, changed: Mapping[str, str]) -> tuple[list[str], list[tuple[dict[str, Any], dict[str, Any]]]]:
    """The names of all columns, new ones last, and each row as it was and as it is then."""
    read = [row for row in read_rows(file) if isinstance(row, Row)]
    rows = [(r.fields, with_sql(r.fields, changed[r.place]) if r.place in changed else r.fields) for r in read]
    return list(dict.fromkeys(name for fields in (rows[0][0], *(new for _, new in rows)) for name in fields)), rows


def _lines(file: Path, text: str, changed: Mapping[str, str]) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        sql = changed.get(f"{file.name}, line {number}")
        if sql is not None:
            lines[number - 1] = _text(line, " ".join(sql.split()))
    return "\n".join(lines)


def _end(line: str) -> str:
    """What a line has before its line feed, where Windows ends lines."""
    return "\r" if line.endswith("\r") else ""
