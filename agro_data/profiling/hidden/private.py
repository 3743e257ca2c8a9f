"""What is private of one person: a column's name, whose it is, and how its values are written say it together.

A person's address is private; that of a building or a web page is not. Passwords and keys are apart (`credentials`):
those nobody asks for, and private columns only a person hides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from agro_data.databases.types import Cell
from agro_data.profiling.names.people import PEOPLE
from agro_data.profiling.names.words import expand, singular_word, split_identifier, word_set
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile, Kind, TableProfile
from agro_data.profiling.side_files.knowledge import Semantics

SHOWN = 4  # columns that a remark names

Whose = Literal[
    "anybody",  # private wherever it stands
    "person",  # in a table of people, or of what reaches them
    "about",  # in a table of people, or one whose rows refer to one of them
]

_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_PHONE = re.compile(r"[+(]?\d[\d\s()./+-]{5,}\d(?:\s*(?:x|ext\.?)\s*\d+)?", re.IGNORECASE)
_ADDRESS = re.compile(r"(?=.*[^\W\d_]).*[\s\d].*", re.DOTALL)  # letters, and a number or a second word
_IBAN = re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?")
_CARD = re.compile(r"\d(?:[ -]?\d){11,18}")
_NUMBERED = re.compile(r"(?=(?:.*\d){4})[\w .*/-]{5,30}")
_DAY = re.compile(r"(?=(?:.*\d){5}).+")  # more than a year
_FILLED = re.compile(r".+", re.DOTALL)
_TEXT: tuple[Kind, ...] = ("text",)
_WRITTEN: tuple[Kind, ...] = ("text", "integer")
_NUMBERS: tuple[Kind, ...] = ("integer", "real")


@dataclass(frozen=True)
class _Sort:
    """Columns whose names end in `name`, of one of `kinds`, most of whose values are written as `form`."""

    holds: str  # in words
    whose: Whose
    name: str
    kinds: Collection[Kind]
    form: re.Pattern[str]


_SORTS = (
    _Sort("social security numbers", "anybody", "e?ssn|social security", _WRITTEN, _NUMBERED),
    _Sort(
        "numbers of identity papers",
        "person",
        "national (?:id|identity|insurance)|(?:identity|id) card|passport|tax(?:payer)? id|driv(?:ers?|ing) licen[cs]e",
        _WRITTEN,
        _NUMBERED,
    ),
    _Sort("bank accounts (IBAN)", "anybody", "iban", _TEXT, _IBAN),
    _Sort("bank accounts", "about", "bank account|account number", _WRITTEN, _NUMBERED),
    _Sort("payment cards", "anybody", "(?:credit|debit|payment|bank) card|card number", _WRITTEN, _CARD),
    _Sort("mail addresses", "person", "e ?mail(?: address| id)?|mail address", _TEXT, _MAIL),
    _Sort("phone numbers", "person", "(?:tele)?phone|mobile|cell|fax|contact number", _WRITTEN, _PHONE),
    _Sort(
        "home addresses",
        "person",
        "(?:street )?address(?: line| details?| content)?|street(?: name)?|line|residence",
        _TEXT,
        _ADDRESS,
    ),
    _Sort("dates of birth", "person", "birth ?da(?:te|y)|date of birth|dob", ("date", "datetime", "text"), _DAY),
    _Sort(
        "earnings of people",
        "about",
        "salary|wages?|bonus|(?:gross|net|base) pay",
        _NUMBERS,
        _FILLED,
    ),
    _Sort("earnings of people", "person", "income|remuneration", _NUMBERS, _FILLED),
    _Sort(
        "illnesses of people",
        "about",
        "diagnos[ei]s|hiv(?: status| test| result)?|disease|illness|blood (?:type|group)|medical (?:history|condition)"
        "|allerg(?:y|ies)|disabilit(?:y|ies)",
        ("text", "boolean", "integer"),
        _FILLED,
    ),
)
_NAMES = tuple(
    (sort, re.compile(rf"(?:(?P<of>.+?) )??(?:{sort.name})(?: (?:number|code))?(?: \d+)?")) for sort in _SORTS
)
_PERSONS = PEOPLE - word_set("supplier producer host head partner seller representative")  # which are firms as often
_OWN = word_set("home private personal residential")
_OF_ITSELF = word_set(
    "primary secondary main first second other alternate alternative permanent current present full work business day "
    "evening emergency mobile cell annual monthly yearly hourly base gross net total contact mailing postal"
)  # which say nothing of whose it is
_ORDERED = word_set("billing shipping delivery")  # of who ordered
_NAMED = re.compile(r"(?:.* )?(?:first|last|middle|given|family|maiden) name|surname|forename")
_REACHED = word_set("address contact phone telephone email mail residence")  # nouns of tables of what reaches somebody
_MOST = 0.5  # of the values at least are written so


def private_columns(profile: DatabaseProfile) -> dict[tuple[str, str], str]:
    """What each private column (table and its name) holds, in words. Hidden ones are left out.

    A column without a value is judged by its name and its declared type.
    """
    people = _People(profile)
    return {
        (table.name, column.name): holds
        for table in profile.tables
        for column in table.columns
        if not column.hidden and (holds := _holds(table, column, people))
    }


def said_of_private(profile: DatabaseProfile, semantics: Semantics) -> Iterator[str]:
    """That questions may ask for private columns, but for those of which a person has said so."""
    private = private_columns(profile).items()
    unsaid = [(place, holds) for place, holds in private if semantics.column(*place).hidden is None]
    found = [f"{table}.{name} ({holds})" for (table, name), holds in unsaid]
    if found:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        yield (
            f"private of people, and asked for unless hidden: {', '.join(found[:SHOWN])}{more}; hide them in a "
            "semantics.yml (`agro databases PATH --draft` writes one), or build with --values synthetic"
        )


def _holds(table: TableProfile, column: ColumnProfile, people: _People) -> str:
    """What a column holds that is private, or ""."""
    values = [_text(value) for value, _ in column.common]
    said = dict.fromkeys((column.phrase.lower(), " ".join(expand(split_identifier(column.name)))))
    for sort, name in _NAMES:
        called = next(filter(None, map(name.fullmatch, said)), None)
        fits = called and column.kind in sort.kinds and _share(values, sort.form) >= _MOST
        if called and fits and people.have(table, (called["of"] or "").split(), sort.whose):
            return sort.holds
    return "mail addresses" if values and _share(values, _MAIL) == 1 else ""  # whatever the column is called


def _share(values: Collection[str], form: re.Pattern[str]) -> float:
    """The share of `values` that are written as `form`; 1 where there are none."""
    return sum(form.fullmatch(value) is not None for value in values) / len(values) if values else 1.0


def _text(value: Cell) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


class _People:
    """Which tables of a database are of people, and which tell something of them."""

    def __init__(self, profile: DatabaseProfile) -> None:
        keys = {(key.table, key.ref_table) for key in profile.foreign_keys}
        self._people = {table.name for table in profile.tables if _of_people(table)}
        self._about = set(self._people)
        while more := {child for child, parent in keys if parent in self._about} - self._about:
            self._about |= more
        near = self._about | {parent for child, parent in keys if child in self._about}
        self._reached = {table.name for table in profile.tables if table.name in near and _REACHED & _nouns(table)}

    def have(self, table: TableProfile, of: Collection[str], whose: Whose) -> bool:
        """Whether it is private what stands in `table` and is called to be `of` somebody or something."""
        words = {singular_word(word) for word in of}
        if whose == "anybody" or words & (_PERSONS | _OWN):
            return True
        if words and words <= _ORDERED:
            return table.name in self._about
        known = self._about if whose == "about" else self._people | self._reached
        return table.name in known and words <= _OF_ITSELF


def _of_people(table: TableProfile) -> bool:
    return bool(_PERSONS & _nouns(table)) or any(_NAMED.fullmatch(column.phrase.lower()) for column in table.columns)


def _nouns(table: TableProfile) -> set[str]:
    return {singular_word(word) for word in table.singular.lower().split()}
