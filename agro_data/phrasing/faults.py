"""What is wrong with a question that a model wrote for a query: names and SQL that leak, values that change, language.

No model is needed to see it, and none would be believed: a question that fails here would teach to copy identifiers, or
ask for something else than its query answers. Whether the rest of it means the same is for solvers to find out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agro_data.diversity.normal_forms import normal_question
from agro_data.llm.prompt import Unparsed
from agro_data.profiling.names.words import is_word, word_set
from agro_data.profiling.profile import DatabaseProfile
from agro_data.prompts.write_question import QuestionStyle, WrittenQuestion
from agro_data.sql.names.scope import resolve
from agro_data.sql.parse import parse_select
from agro_data.sql.said import SqlValues, numbers_in, plain, values_in

Fault = Literal[
    "unchanged",  # the plain question again
    "leaks_name",  # an identifier that nobody would say
    "leaks_sql",  # a word of SQL
    "value_lost",  # a value of the query is in neither question nor evidence
    "value_added",  # a number that is not in the query
    "no_evidence",  # vague or metaphorical, and nothing says what is meant
    "no_dialogue",  # several turns were asked for
    "not_english",
]

_SMALL = 2  # numbers up to this are said in too many ways ("no", "a", "both", "another")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|_|(?<=[A-Za-z])(?=\d)")
_SQL = re.compile(
    r"\b(?:SELECT|FROM|WHERE|JOIN|GROUP BY|ORDER BY|HAVING|LIMIT|DISTINCT|UNION|INTERSECT|EXCEPT|NULL|DESC|ASC|LIKE)\b"
    r"|\b(?:COUNT|SUM|AVG|MIN|MAX)\s*\("
    r"|(?i:\b(?:sql|subquery|inner join|left join|where clause|foreign key|primary key)\b)"
)
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = word_set(
    "the a an of in on for to with and or is are was were what which who how many much show list find give all each "
    "that have has by me i their than more less least most please could you"
)
_OTHERS = word_set(
    "el los las del una por cuales cuántos qué que le les des une dans avec quels quelles combien est sont der die das "
    "und ist sind welche wie viele mit von für il gli della che quali quanti o os um uma dos das quais quantos é"
)


@dataclass(frozen=True)
class Meaning:
    """What a question has to say: `values` of its query, `digits` that may stand in it, and `names` that may not.

    `meant` gives what people say for a value that is a code; `plain_question` is the grammar's, "" where there is none.
    """

    values: SqlValues
    meant: dict[str, str]
    names: frozenset[str]
    plain_question: str
    style: QuestionStyle


def meaning_of(sql: str, profile: DatabaseProfile, plain_question: str, style: QuestionStyle) -> Meaning:
    """The meaning of a query on the database of `profile`. Raises `SqlRefused` for what is no query."""
    found = resolve(parse_select(sql, profile.dialect), profile.dialect, profile.schema)
    codes = {
        value: meant
        for table in profile.tables
        for column in table.columns
        if (table.name, column.name) in found.columns
        for value, meant in column.codes
    }
    return Meaning(values_in(found, sql), codes, telling_names(profile), plain_question, style)


def fault_of(written: WrittenQuestion, meaning: Meaning) -> Unparsed | None:
    """The first fault, its class a `Fault`; None where there is none."""
    return next((Unparsed(kind, detail) for kind, detail in _faults(written, meaning)), None)


def telling_names(profile: DatabaseProfile) -> frozenset[str]:
    """Identifiers that no one says who has not seen the schema: several words in one, or no English word."""
    said = {noun.lower() for table in profile.tables for noun in (table.singular, table.plural)}
    said |= {column.phrase.lower() for table in profile.tables for column in table.columns}
    every = {table.name for table in profile.tables}
    every |= {column.name for table in profile.tables for column in table.columns}
    spoken = {word for phrase in said for word in phrase.split()} | said
    return frozenset(
        name
        for name in every
        if len(name) > 1 and name.lower() not in spoken and (_HUMP.search(name) or not is_word(name.lower()))
    )


def _faults(written: WrittenQuestion, meaning: Meaning) -> Iterator[tuple[Fault, str]]:
    question, evidence = written.question, written.evidence or ""
    if meaning.plain_question and normal_question(question) == normal_question(meaning.plain_question):
        yield "unchanged", "it is the plain question again"
    leaked = [name for name in sorted(meaning.names) if _stands(name, question)]
    leaked += re.findall(r"`([^`]+)`", question)
    if leaked:
        yield "leaks_name", f"it names {leaked[0]}, which only the schema does"
    if found := _SQL.search(question):
        yield "leaks_sql", f"it says {found[0]!r}"
    yield from _values(question, evidence, meaning)
    if meaning.style in ("vague", "metaphorical") and not evidence:
        yield "no_evidence", f"a {meaning.style} question needs evidence, and has none"
    if meaning.style == "multi-turn" and not ("User:" in question and "Assistant:" in question):
        yield "no_dialogue", "no turns of User: and Assistant: are in it"
    if not _is_english(question, meaning.values.texts):
        yield "not_english", "it is not in English"


def _stands(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _values(question: str, evidence: str, meaning: Meaning) -> Iterator[tuple[Fault, str]]:
    values, told = meaning.values, plain(f"{question} {evidence}")
    for text in values.texts:
        ways = (plain(text), plain(meaning.meant.get(text, "")))
        if ways[0] and not any(way and way in told for way in ways) and not _left_out(text, meaning):
            yield "value_lost", f"{text!r} is in neither question nor evidence"
    asked = {value for said in numbers_in(f"{question} {evidence}") for value in said.values}
    for number in values.compared:
        ways_said = {number, number - 1, number + 1, -number, number * 100}
        if abs(number) > _SMALL and not ways_said & asked and not _left_out(f"{number:g}", meaning):
            yield "value_lost", f"{number:g} is in neither question nor evidence"
    known = {abs(value) for value in (*values.numbers, *map(float, values.limits))}
    known |= {value for said in numbers_in(f"{meaning.plain_question} {evidence}") for value in said.values}
    for said in numbers_in(question):
        ways_meant = {value + step for value in said.values for step in (-1, 0, 1)}
        digits = {run for value in said.values for run in (f"{value:g}", f"{value:g}"[2:]) if run}
        if not said.spelt and max(said.values) > _SMALL and not ways_meant & known and not digits & values.digits:
            yield "value_added", f"{said.text} is not in the query"


def _left_out(value: str, meaning: Meaning) -> bool:
    """Whether the plain question does not say the value either: it says it in another way."""
    return bool(meaning.plain_question) and plain(value) not in plain(meaning.plain_question)


def _is_english(question: str, values: tuple[str, ...]) -> bool:
    """Whether it is, its values aside: letters are Latin ones, and no other language's small words prevail."""
    bare = question
    for value in values:
        bare = re.sub(re.escape(value), " ", bare, flags=re.IGNORECASE)
    letters = [character for character in bare if character.isalpha()]
    if letters and sum(character > "\u024f" for character in letters) > 0.1 * len(letters):
        return False
    words = [word.lower() for word in _WORD.findall(bare)]
    return sum(word in _ENGLISH for word in words) >= sum(word in _OTHERS - _ENGLISH for word in words)
