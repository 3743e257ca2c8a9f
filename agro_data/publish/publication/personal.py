"""Personal data in what is about to be published: numbers and addresses that lead to a person, wherever they stand.

Phone numbers are found by `phonenumbers` (Google's libphonenumber: formats and number plans of every country), account,
card and social security numbers by `python-stdnum` (lengths and check digits), mail addresses by their form. Both
libraries work offline and give the same answer everywhere. Names of people are not looked for: that needs a model, and
names are what half of all databases are about; the card says so.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import duckdb
import polars as pl

from agro_data.databases.opening import open_duckdb
from agro_data.databases.quoting import quoted
from agro_data.databases.trusted.sqlite_connection import SqliteConnection
from agro_data.databases.types import Database
from agro_data.profiling.hidden.credentials import CREDENTIAL

MAIL = re.compile(r"[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
RESERVED = re.compile(r"@(?:.*\.)?(?:example(?:\.(?:com|net|org))?|test|invalid|localhost)$", re.IGNORECASE)  # RFC 2606
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
CARD = re.compile(r"(?<![\w.])[2-6]\d{3}(?:([ -]?)\d{4})(?:\1\d{4})(?:\1\d{1,7})\b(?!\.\d)")  # no part of a decimal
SSN = re.compile(r"\b\d{3}-\d{2}-\d{4}\b")
DIGIT = re.compile(r"\d")
PHONE = re.compile(r"(?:\+|\b00|\()?\d[\d\s().\-/‐-―−]{5,}\d")  # cheap: what has no such run holds no phone number
PHONE_SIGN = re.compile(r"[+()]|\d[\s.\-/]\d")  # bare digits are ids and amounts more often than phone numbers
BEFORE, AFTER = 2, 12  # characters around a run: what tells a number from part of a word or a time; an extension
REGIONS = ("US", "GB", "DE", "FR", "IN", "BR")  # whose national forms are known without a country code
DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}")
MOMENT = re.compile(rf"(?:{DATE.pattern})(?: +\d{{1,2}})?\s*")  # of a date and a time: the run ends at the hour's colon
AMOUNT = re.compile(r"\(?(?:0|[1-9]\d*)\.\d+\)?\s*")
KINDS = {
    "email": "mail address",
    "phone": "phone number",
    "iban": "bank account (IBAN)",
    "card": "payment card",
    "ssn": "US social security number",
    "credential": "password hash, key or token",
}
VIRTUAL = 2  # what `pragma_table_xinfo` calls hidden of a column that is computed when it is read
TEXT_FILES = (".md", ".html")
PACKED = re.compile(r"H4sI[A-Za-z0-9+/]{16,}={0,2}")  # gzip in base64, which pages carry rows in (`pages.packed`)
PIECE = 500  # rows of a table in which a text counts once
REMEMBERED = 2**20  # characters of texts that are held at once to know them again


@dataclass(frozen=True)
class Finding:
    """Something in `text[start:end]` of the kind `kind` (a key of `KINDS`)."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Finding]:
    """What of `KINDS` stands in `text`, in order; no part of it counts twice."""
    found: list[Finding] = []
    for finding in _all(text):
        if not any(finding.start < other.end and other.start < finding.end for other in found):
            found.append(finding)
    return sorted(found, key=lambda one: (one.start, one.end))


def _all(text: str) -> Iterator[Finding]:
    yield from (Finding("credential", m.start(), m.end()) for m in CREDENTIAL.finditer(text))
    if "@" in text:
        yield from (Finding("email", m.start(), m.end()) for m in MAIL.finditer(text) if not RESERVED.search(m.group()))
    if not DIGIT.search(text):
        return
    from stdnum import iban, luhn  # noqa: PLC0415 (only for who publishes)
    from stdnum.us import ssn  # noqa: PLC0415

    yield from (Finding("iban", m.start(), m.end()) for m in IBAN.finditer(text) if iban.is_valid(m.group()))
    yield from (
        Finding("card", m.start(), m.end())
        for m in CARD.finditer(text)
        if luhn.is_valid(re.sub(r"[ -]", "", m.group())) and 13 <= len(re.sub(r"[ -]", "", m.group())) <= 19
    )
    yield from (Finding("ssn", m.start(), m.end()) for m in SSN.finditer(text) if ssn.is_valid(m.group()))
    yield from _phones(text)


def _phones(text: str) -> Iterator[Finding]:
    """Numbers that a number plan knows as valid and that are written as phone numbers are."""
    for run in PHONE.finditer(text):
        written = run.group()
        if not PHONE_SIGN.search(written) or MOMENT.fullmatch(written) or AMOUNT.fullmatch(written):
            continue
        start = max(run.start() - BEFORE, 0)
        for first, last in _numbers(text[start : run.end() + AFTER]):
            yield Finding("phone", start + first, start + last)


@lru_cache(maxsize=1 << 16)  # the mutants of a query all hold its numbers
def _numbers(window: str) -> tuple[tuple[int, int], ...]:
    """Where phone numbers stand in a short text."""
    from phonenumbers import Leniency, PhoneNumberMatcher  # noqa: PLC0415

    found = {
        (match.start, match.end): match.raw_string
        for region in REGIONS
        for match in PhoneNumberMatcher(window, region, leniency=Leniency.VALID)
    }
    return tuple(place for place, written in found.items() if PHONE_SIGN.search(written) and not DATE.search(written))


def personal_rows(frame: pl.DataFrame, ids: Collection[str] = ()) -> pl.Series:
    """For each row of `frame` whether any of its texts, nested ones included, holds personal data (Boolean).

    Texts that are one of `ids` are passed over: of 16 hex digits that happen to be all decimal, one in twenty passes
    for the number of a payment card.
    """
    known = dict.fromkeys(ids, False)

    def holds(text: str) -> bool:
        if text not in known:
            known[text] = bool(find(text))
        return known[text]

    return pl.Series("personal", [any(map(holds, _texts(row))) for row in frame.iter_rows()], dtype=pl.Boolean)


def scan_files(folder: Path, names: Iterable[str], ids: Collection[str] = ()) -> dict[str, dict[str, int]]:
    """Findings in the files `names` of `folder`, by file and kind; files without any are left out.

    Reads Parquet, SQLite, DuckDB, JSON and text; texts that are one of `ids` are passed over, as in `personal_rows`.
    Raises `ValueError`, `DatabaseError` or `duckdb.Error` for a file that it cannot read, or only without bounds on
    time and memory: a file that was not scanned is not published.
    """
    found: dict[str, dict[str, int]] = {}
    for name in names:
        kinds = Counter(one.kind for text in _contents(folder / name) if text not in ids for one in find(text))
        if kinds:
            found[name] = dict(sorted(kinds.items()))
    return found


def _contents(path: Path) -> Iterator[str]:
    """The texts of a file. What is stored as a number is none: seeds and ids would pass for account numbers."""
    if path.suffix == ".json":
        yield from _texts(json.loads(path.read_text(encoding="utf-8")))
    elif path.suffix in TEXT_FILES:
        text = path.read_text(encoding="utf-8")
        yield PACKED.sub("", text)
        for blob in PACKED.findall(text):
            yield from _texts(json.loads(gzip.decompress(base64.b64decode(blob))))
    elif path.suffix == ".parquet":
        yield from dict.fromkeys(text for row in pl.read_parquet(path).iter_rows() for text in _texts(row))
    elif path.suffix == ".sqlite":
        yield from _sqlite(path)
    elif path.suffix == ".duckdb":
        yield from _duckdb(path)
    else:
        raise ValueError(f"{path}: cannot be looked through for personal data, so it is not published")


def _sqlite(path: Path) -> Iterator[str]:
    with closing(SqliteConnection(Database(path.name, "sqlite", "sqlite", path, "", path.name))) as connection:
        yield from _distinct(connection.stream("SELECT sql FROM sqlite_master"))  # defaults, checks, names of columns
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"):
            columns = connection.execute(
                "SELECT name, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid", (table,)
            )
            if not all(isinstance(name, str) for name in (table, *(column for column, _ in columns))):
                raise ValueError(f"{path}: the name of a table or column is not UTF-8, so it is not published")
            computed = [quoted(str(column)) for column, hidden in columns if hidden == VIRTUAL]
            stored = ", ".join(quoted(str(column)) for column, hidden in columns if hidden != VIRTUAL)
            for read in (stored, *computed):  # each may be as long as all that is stored of a row
                yield from _distinct(connection.stream(f"SELECT {read} FROM {quoted(str(table))}"))


def _duckdb(path: Path) -> Iterator[str]:
    with closing(open_duckdb(path, "duckdb", {"memory_limit": "1GiB"})[0]) as connection:
        for defined in ("sql FROM duckdb_tables()", "sql FROM duckdb_views()", "labels FROM duckdb_types()"):
            yield from _distinct(_rows(connection.execute(f"SELECT {defined} WHERE NOT internal")))
        tables = connection.execute(
            "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL"
        ).fetchall()
        for name in tables:
            yield from _distinct(_rows(connection.execute(f"SELECT * FROM {'.'.join(map(quoted, name))}")))


def _rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[object, ...]]:
    while row := cursor.fetchone():
        yield row


def _distinct(rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    """The texts of rows, each once a piece."""
    seen: set[str] = set()
    held = 0
    for number, row in enumerate(rows):
        if number % PIECE == 0:
            seen, held = set(), 0
        for text in _texts(row):
            if held > REMEMBERED:
                seen, held = set(), 0
            if text not in seen:
                seen.add(text)
                held += len(text)
                yield text


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("utf-8", "replace")
    elif isinstance(value, dict):
        yield from _texts((*value, *value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
