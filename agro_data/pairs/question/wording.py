"""Does the question say what the SQL does? Only what can be told from words alone, and in doubt nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from difflib import SequenceMatcher

from sqlglot import exp

from agro_data.pairs.finding import Finding
from agro_data.pairs.places import profile_at
from agro_data.pairs.question.bounds import check_bounds
from agro_data.pairs.question.ends import check_ends
from agro_data.pairs.question.left_out import check_left_out
from agro_data.pairs.question.numbers import SMALL, check_numbers, listed, says_time
from agro_data.pairs.question.spans import check_spans
from agro_data.pairs.question.totals import check_totals
from agro_data.profiling.columns.statistics import as_number
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.constructs import is_aggregate
from agro_data.sql.names.resolution import Resolution
from agro_data.sql.said import (
    MONTHS,
    WEEKDAYS,
    SqlValues,
    date_parts,
    numbers_in,
    plain,
    quoted_values,
    values_in,
    words_of,
)
from agro_data.sql.walks import leftmost

ALIKE = 0.75  # of the letters, from which two spellings are meant to be one value

_ALMOST = 0.85  # of the letters, from which two words differ by a slip
_COUNTED = re.compile(
    r"how many|how much|number|count|amount|total|quantity|frequency|times|size|sum|many|# of|enrol", re.IGNORECASE
)
_AVERAGE = re.compile(r"\baverage\b|\bavg\b|\bmean (?:of|value|price|age|score|salary)\b", re.IGNORECASE)
_FLAGS = frozenset({"yes", "no", "true", "false"})
_WEEK = tuple(map(str.lower, WEEKDAYS))
_COUNTRIES = {  # whose people are called otherwise than they begin
    "france": "french",
    "united kingdom": "british",
    "netherlands": "dutch",
    "spain": "spanish",
    "switzerland": "swiss",
    "denmark": "danish",
    "poland": "polish",
    "finland": "finnish",
    "ireland": "irish",
    "united states": "american",
}
_ABBREVIATED = re.compile(r"\b[A-Z]{2,4}\b")
_CODE = 3  # letters or digits that a code may have
_STEM = 4  # letters that words of one stem have in common
_MONTHS = tuple(month.lower() for month in MONTHS)
_DAYS = {day: "weekday" if number < 5 else "weekend" for number, day in enumerate(_WEEK)}
_NEW_YEAR = re.compile(r"(\d{4})-01-01\b")
_NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")
_CAPITALS = re.compile(r"(?<![\w'\u2019-])[A-Z]{4,}(?![\w'\u2019-])")


def check_wording(question: str, evidence: str, sql: str, found: Resolution, profile: DatabaseProfile) -> list[Finding]:
    """Findings of one pair; `found` is its resolved SQL. A pair without a question has none, nor one whose SQL reads no
    table: that is one fault, and it is told.
    """
    if not question.strip() or not found.tables:
        return []
    values = values_in(found, sql)
    return [
        *check_numbers(question, evidence, values, found),
        *check_bounds(question, found, profile.dialect),
        *check_spans(question, evidence, found, profile),
        *_texts(question, evidence, values, found.tables),
        *_limits(question, evidence, values),
        *check_ends(question, found, profile),
        *_aggregates(question, evidence, sql, found, profile),
        *check_totals(question, evidence, found, profile),
        *check_left_out(question, sql, found, profile),
    ]


# --- texts -------------------------------------------------------------------------------------------------------


def _texts(question: str, evidence: str, sql: SqlValues, tables: Set[str]) -> Iterator[Finding]:
    told = plain(f"{question} {evidence}")
    told_words = set(words_of(f"{question} {evidence}"))
    paired: set[str] = set()
    for word, text in _in_capitals(question, sql, told_words):
        paired.add(text)
        yield Finding("value_differs", f"The question says {word!r}, the SQL {text!r}.")
    asked = [text for text in sql.asked if text not in paired]
    unasked = [text for text in asked if plain(text) and not _is_told(text, told, told_words)]
    unasked = [text for text in unasked if not says_time(text, question)]
    names = {table.lower() for table in tables}
    for value in quoted_values(question):
        if _is_in_sql(value, sql):
            continue
        near = next((text for text in unasked if _alike(plain(text), plain(value))), "")
        if near:
            paired.add(near)
            yield Finding("value_differs", f"The question says {value!r}, the SQL {near!r}.")
        elif unasked:
            paired.update(unasked)
            yield Finding("value_as_code", f"{value!r} of the question is {listed(map(repr, unasked))} in the SQL.")
        elif plain(value) not in plain(evidence):
            yield Finding("value_not_used", f"{value!r} of the question is not in the SQL.")
    for text in unasked:
        if text in paired:
            continue
        near = _nearest_phrase(plain(text), plain(question)) or _nearest_name(text, question, sql)
        if near:
            yield Finding("value_differs", f"The question says {near!r}, the SQL {text!r}.")
        elif _says_something(text) and text.lower() not in names and not _is_meant(text, f"{question} {evidence}"):
            yield Finding("value_not_asked", f"{text!r} of the SQL is not in the question or the evidence.")


def _in_capitals(question: str, sql: SqlValues, told_words: Set[str]) -> Iterator[tuple[str, str]]:
    """Words of capitals, which have no endings as other words have, that no value of the SQL has, each with one that
    has a word spelt almost so, which the question lacks: SWEAZ and SWEAZY.
    """
    if question.isupper():
        return
    for word in dict.fromkeys(_CAPITALS.findall(question)):
        wanted = word.lower()
        for text in dict.fromkeys(sql.asked) if wanted not in sql.words else ():
            others = (part for part in plain(text).split() if part not in told_words)
            if any(_is_almost(wanted, part) for part in others):
                yield word, text
                break


def _is_almost(one: str, other: str) -> bool:
    """Two spellings that differ in a letter or two, but for a plural's."""
    plural = one == f"{other}s" or other == f"{one}s"
    return not plural and one[0] == other[0] and SequenceMatcher(None, one, other).ratio() >= _ALMOST


def _is_told(text: str, told: str, told_words: set[str]) -> bool:
    """Whether the question says a text of the SQL, if only by one of its words or the beginning of one."""
    wanted = plain(text)
    if wanted in told or wanted.replace(" ", "") in told.replace(" ", ""):
        return True
    words = [*words_of(text), *date_parts(text)]
    if any(word in told_words for word in words if len(word) > 1 or word.isdigit()):
        return True
    if _DAYS.get(wanted, "") in told_words:
        return True
    after = _NEW_YEAR.match(text)  # the end of the year before, without itself
    return after is not None and str(int(after[1]) - 1) in told_words


def _is_meant(text: str, said: str) -> bool:
    """Whether other words of the question may stand for a text: one of its stem (Canadian), its initials, the people of
    a country, another day of the week or month, from which it is counted.
    """
    words, wanted = set(words_of(said)), plain(text)
    if any(_of_one_stem(word, other) for word in words_of(text) for other in words):
        return True
    initials = "".join(word[0] for word in wanted.split())
    if len(initials) > 1 and any(short.lower().startswith(initials) for short in _ABBREVIATED.findall(said)):
        return True
    if _COUNTRIES.get(wanted) in words:
        return True
    return any(wanted in calendar and not words.isdisjoint(calendar) for calendar in (_WEEK, _MONTHS))


def _of_one_stem(one: str, other: str) -> bool:
    stem = max(_STEM, min(len(one), len(other)) - 2)
    return one[:stem] == other[:stem]


def _is_in_sql(value: str, sql: SqlValues) -> bool:
    wanted = plain(value)
    if not wanted or any(wanted in plain(text) or plain(text) in wanted for text in sql.texts if plain(text)):
        return True
    words = words_of(value)
    return any(word in sql.words for word in words) or any(word.lstrip("0") in sql.digits for word in words)


def _alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other).ratio() >= ALIKE


def _nearest_phrase(text: str, question: str) -> str:
    """Words of the question, as many as the text has, that are spelt almost as it is."""
    words, size = question.split(), len(text.split())
    if len(text) < 5:
        return ""
    phrases = (" ".join(words[start : start + size]) for start in range(len(words) - size + 1))
    return next((p for p in phrases if p[:1] == text[:1] and len(p) > 4 and _slip(p, text)), "")


def _nearest_name(text: str, question: str, sql: SqlValues) -> str:
    """A name in the question that no value of the SQL holds, spelt much like this one: Daan and Dean."""
    if not _NAME.fullmatch(text):
        return ""
    held = {word for one in sql.texts for word in words_of(one)}
    names = [name for name in _NAME.findall(question) if plain(name) not in held]
    return next((name for name in names if _is_variant(plain(name), plain(text))), "")


def _is_variant(one: str, other: str) -> bool:
    """Alike, and not one word with two endings (Canada, Canadian)."""
    stem = min(len(one), len(other)) - 2
    return one[0] == other[0] and one[:stem] != other[:stem] and _alike(one, other)


def _slip(one: str, other: str) -> bool:
    """Two spellings that differ in a letter or two, and not by an ending (country, countries; French, France)."""
    shared = SequenceMatcher(None, one, other)
    return shared.ratio() >= _ALMOST and one[: len(other) - 2] != other[: len(other) - 2]


def _says_something(text: str) -> bool:
    """Whether a text is more than a flag or a code, which stand for words of any kind, or the digits of a month."""
    return len(plain(text)) > _CODE and plain(text) not in _FLAGS


# --- limits ------------------------------------------------------------------------------------------------------


def _limits(question: str, evidence: str, sql: SqlValues) -> Iterator[Finding]:
    known = {value for said in (*numbers_in(question), *numbers_in(evidence)) for value in said.values}
    for limit in sql.limits:
        if limit > SMALL and not known & {float(limit), float(limit + 1)}:
            yield Finding("limit_not_asked", f"LIMIT {limit}, but the question names no such number.")


# --- aggregates --------------------------------------------------------------------------------------------------


def _aggregates(
    question: str, evidence: str, sql: str, found: Resolution, profile: DatabaseProfile
) -> Iterator[Finding]:
    items = [item.unalias() for item in leftmost(found.tree).expressions]
    words = set(words_of(sql))
    average = _AVERAGE.search(question)
    stored = words & {"avg", "average", "mean", "ave", *_initials(question, "average")}
    if average and not found.tree.find(exp.Avg, exp.Div) and not stored:
        yield Finding("average_missing", f"The question says {average[0]!r}; the SQL computes no average.")
    counted = len(items) == 1 and isinstance(items[0], exp.Count) and isinstance(found.tree, exp.Select)
    if counted and not _COUNTED.search(f"{question} {evidence}"):
        yield Finding("count_not_asked", "The SQL gives a count; no word of the question asks for a number.")
    if re.match(r"how many\b", question.strip(), re.IGNORECASE) and not _gives_number(items, found, profile):
        yield Finding("count_missing", "The question asks how many; no column that comes out is a number.")


def _initials(question: str, word: str) -> set[str]:
    """Short names of figures that end in a word: GPA for "grade point average"."""
    words = plain(question).split()
    ends = [place + 1 for place, one in enumerate(words) if one == word]
    return {"".join(one[0] for one in words[end - size : end]) for end in ends for size in (2, 3, 4) if size <= end}


def _gives_number(items: Sequence[exp.Expr], found: Resolution, profile: DatabaseProfile) -> bool:
    """Whether some output may be a number; only plain columns of text are known not to be, unless numbers are kept as
    texts there.
    """
    for item in items:
        place = found.place(item)
        if place is None or is_aggregate(item):
            return True
        column = profile_at(place, profile)
        if column.kind not in ("text", "date", "datetime", "time", "blob"):
            return True
        if column.common and all(as_number(value) is not None for value, _ in column.common):
            return True
    return False
