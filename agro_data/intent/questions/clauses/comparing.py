"""Conditions on one column in words: bounds, equality, patterns, absence. Nothing here looks beyond the column."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from agro_data.intent.questions.clauses.modifiers import Atom
from agro_data.intent.questions.habits import ARTICLE_LEFT_OUT, BOUNDS, OF_KIND, WITH_PATTERN
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.vocabulary import CONTAINERS, EVENTS, NOT_COUNTED
from agro_data.intent.questions.voice import Voice
from agro_data.intent.tree import Comparator
from agro_data.profiling.names.units import without_unit
from agro_data.profiling.profile import ColumnProfile

Sort = Literal["number", "year", "date", "text", "boolean"]

_BARE = {"above", "below", "over", "under", "higher than", "lower than", "greater than", "less than", "larger than",
         "smaller than", "greater than or equal to", "less than or equal to"}  # fmt: skip
_MORE = {">": "more than", "<": "fewer than", ">=": "at least", "<=": "at most"}
_TIME: dict[Comparator, tuple[str, ...]] = {
    ">": ("after", "later than"),
    "<": ("before", "earlier than"),
}
_MONTH = re.compile(r"""["']?[A-Z][a-z]+ \d{4}["']?""")
_NUMBER = re.compile(r"-?\d[\d.,]*")
_PLACED = (" on ", " in ", " at ", " against ", " with ", " without ")  # weeks on top, shots on target
_PARTICIPIAL = re.compile(r"(?:first |last )?\w+ed (?:at|by|from|in|to)")  # "incorporated in", "directed by"
_KINDS = ("type", "category", "kind", "class", "genre", "style", "rank")


def sort_of(column: ColumnProfile | None) -> Sort:
    """How values of the column are compared in speech."""
    if column is None:
        return "number"
    if column.role == "boolean":
        return "boolean"
    if column.role == "year" or _yearlike(column):
        return "year"
    if column.role == "date" or column.kind in ("date", "datetime"):
        return "date"
    return "number" if column.kind in ("integer", "real") else "text"


def _yearlike(column: ColumnProfile) -> bool:
    low, high = column.minimum, column.maximum
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return False
    return "year" in column.phrase.lower().split(" ") and low >= 1000 and high <= 2200


def compared(phrase: str, sort: Sort, operator: Comparator, text: str, voice: Voice, count: bool = True) -> Atom:
    """ "age", ">", "56": with an age above 56, whose age is over 56.

    `count` allows "more than 5 seats" for "a number of seats above 5".
    """
    if sort in ("year", "date"):
        return _timed(phrase, sort, operator, text, voice)
    bare, unit = without_unit(phrase)
    if unit and sort == "number" and _NUMBER.fullmatch(text):
        phrase, text, count = bare, f"{text} {unit}", False
    if operator == "!=":
        return _other_than(phrase, sort, text, voice)
    if operator == "=" and sort == "boolean" and phrase.endswith(" flag"):
        return Atom(have=f"the {phrase} set to {text}", whose=f"{phrase} is {text}")
    if operator == "=":
        return _numbered(phrase, text, voice, count) if sort == "number" else _equal(phrase, text, voice)
    if sort == "number":
        return _bounded(phrase, operator, text, voice, count)
    bound = {">": "after", "<": "before", ">=": "at or after", "<=": "at or before"}[operator]
    said = f"{bound} {text} alphabetically"
    return Atom(have=f"{words.article(phrase)} {said}", whose=f"{phrase} comes {said}")


def _bounded(phrase: str, operator: Comparator, text: str, voice: Voice, count: bool) -> Atom:
    """A number above or below another: "an age above 56", "more than 5 seats"."""
    bound = voice.weigh(BOUNDS[operator])
    full = f"{words.article(phrase)} {bound if bound in _BARE else f'of {bound}'} {text}"
    bare = bound in _BARE and not phrase.startswith("number of ") and voice.chance(ARTICLE_LEFT_OUT)
    have = f"{phrase} {bound} {text}" if bare else full
    many = counted(phrase) if count and "." not in text else ""
    if many:
        have = f"{_MORE[operator]} {_so_many(many, text)}"
    if many == phrase:
        # A plural stands for how many there are: no one says that issues are below six.
        return Atom(have, f"number of {phrase} is {bound} {text}")
    verb = (f"have {full}", f"has {full}") if have != full and not many else ("", "")
    return Atom(have, f"{phrase} {words.be(phrase)} {bound} {text}", _older(phrase, operator, text), verb)


def _other_than(phrase: str, sort: Sort, text: str, voice: Voice) -> Atom:
    other = voice.pick("other than", "different from") if sort == "text" else "other than"
    have = f"{words.article(phrase)} {other} {text}" if voice.chance(0.3) else ""
    return Atom(have=have, whose=f"{phrase} {words.be(phrase)} not {text}")


def _numbered(phrase: str, text: str, voice: Voice, count: bool) -> Atom:
    """A number equal to another: "age 56", "exactly 5 seats"."""
    many = counted(phrase) if count else ""
    if many:
        have = f"exactly {_so_many(many, text)}"
    else:
        have = voice.pick(*[f"{phrase} {text}"] * 5, f"{words.article(phrase)} of {text}")
    if phrase.rsplit(" ", 1)[-1].lower() in ("id", "number", "code"):
        have = voice.pick(*[f"{phrase} {text}"] * 4, f"the {phrase} {text}")
    if many == phrase:
        return Atom(have=have, whose=f"number of {phrase} is {text}")
    aged = f"aged {text}" if phrase == "age" else ""
    return Atom(have=have, whose=f"{phrase} {words.be(phrase)} {text}", after=aged)


def _equal(phrase: str, text: str, voice: Voice) -> Atom:
    """A text or a flag: "name Joe", "directed by Joe", "in the city of Rome"."""
    if _PARTICIPIAL.fullmatch(phrase):
        said = f"{phrase} {text}"
        return Atom(whose=f"{phrase} is {text}", after=said, verb=(f"are {said}", f"is {said}"))
    have = voice.pick(*[f"{phrase} {text}"] * 4, f"the {phrase} {text}")
    have = f"the {phrase} {text}" if phrase == "sex" else have  # who "has sex" does another thing
    return Atom(have=have, whose=f"{phrase} {words.be(phrase)} {text}", after=placed(phrase, text, voice))


def _so_many(many: str, text: str) -> str:
    """ "5 seats", "1 seat"."""
    return f"{text} {words.singular(many) if text == '1' else many}"


def _timed(phrase: str, sort: Sort, operator: Comparator, text: str, voice: Voice) -> Atom:
    made = _dated(phrase, sort, operator, text, voice)
    when = {"year": {"=": "in", ">": "after", "<": "before"}, "date": {"=": "on", ">": "after", "<": "before"}}
    if operator not in when[sort]:
        return made
    within = operator == "=" and _MONTH.fullmatch(text) is not None  # a date without a day
    told = f"{'in' if within else when[sort][operator]} {text}"
    if phrase in when:
        year = voice.chance(0.25) and phrase == "year" and operator == "="
        return replace(made, after=f"in the year {text}" if year else told)
    return _happened(made, phrase, told)


def _happened(made: Atom, phrase: str, when: str) -> Atom:
    """ "opened in 2010", where the phrase of the date tells what happened then."""
    said = phrase.split(" ")
    if len(said) == 3 and said[1] == "of":
        del said[1]
    told = {"date", "time", "year"} & set(said)
    event = next((EVENTS[word] for word in said if word in EVENTS), "")
    if len(said) != 2 or not told or not event:
        return made
    return replace(made, after=f"{event} {when}", verb=(f"were {event} {when}", f"was {event} {when}"))


def _dated(phrase: str, sort: Sort, operator: Comparator, text: str, voice: Voice) -> Atom:
    a_phrase, is_ = words.article(phrase), words.be(phrase)
    if operator in ("=", "!="):
        negation = "" if operator == "=" else "not "
        have = (
            voice.pick(*[f"{phrase} {text}"] * 4, f"{a_phrase} of {text}")
            if operator == "="
            else f"{a_phrase} other than {text}"
        )
        return Atom(have=have, whose=f"{phrase} {is_} {negation}{text}")
    if operator in (">", "<"):
        when = voice.pick(*_TIME[operator])
        bare = phrase if voice.chance(ARTICLE_LEFT_OUT) else a_phrase
        return Atom(have=f"{bare} {when} {text}", whose=f"{phrase} {is_} {when} {text}")
    if sort == "year":
        when = "or later" if operator == ">=" else "or earlier"
        return Atom(have=f"{a_phrase} of {text} {when}", whose=f"{phrase} {is_} {text} {when}")
    when = "on or after" if operator == ">=" else "on or before"
    return Atom(have=f"{a_phrase} {when} {text}", whose=f"{phrase} {is_} {when} {text}")


def in_year(phrase: str, operator: Comparator, text: str, voice: Voice) -> Atom:
    """The year (or month) of a date compared: "an order date in 2010 or later"."""
    a_phrase, is_ = words.article(phrase), words.be(phrase)
    if operator == "!=":
        return Atom(have=f"{a_phrase} outside {text}", whose=f"{phrase} {is_} not in {text}")
    when = {"=": f"in {text}", ">": f"after {text}", "<": f"before {text}",
            ">=": f"in {text} or later", "<=": f"in {text} or earlier"}[operator]  # fmt: skip
    made = Atom(
        have=f"{phrase if voice.chance(ARTICLE_LEFT_OUT) else a_phrase} {when}",
        whose=f"{phrase} {voice.pick(is_, is_, 'fall' if is_ == 'are' else 'falls')} {when}",
        after=when if phrase == "date" and operator == "=" else "",
    )
    return _happened(made, phrase, when)


def between(phrase: str, low: str, high: str, voice: Voice, count: bool = True) -> Atom:
    """Both ends included, and said so. `count` allows "5 to 9 seats" for seats from 5 to 9."""
    bare, unit = without_unit(phrase)
    if unit and _NUMBER.fullmatch(high):
        phrase, high, count = bare, f"{high} {unit}", False
    span = f"from {low} to {high}" if voice.chance(0.6) else f"between {low} and {high} inclusive"
    a_phrase = phrase if voice.chance(ARTICLE_LEFT_OUT) else words.article(phrase)
    many = counted(phrase) if count else ""
    if many == phrase:
        return Atom(have=f"{low} to {high} {many}", whose=f"number of {phrase} is {span}")
    return Atom(have=f"{a_phrase} {span}", whose=f"{phrase} {words.be(phrase)} {span}")


def matched(phrase: str, kind: str, text: str, negated: bool, voice: Voice, any_case: bool = False) -> Atom:
    """A pattern: "a name containing the text 'x'". `any_case`: it is said that letter case does not count."""
    what = voice.pick("", "", "", "the substring ", _letters(text)) + text
    if any_case and text.lower() != text.upper():
        what += voice.pick(" (ignoring case)", " (in any letter case)")
    singular_forms = {"contains": ("contains", "containing"), "starts": ("starts with", "starting with"),
                      "ends": ("ends with", "ending with")}  # fmt: skip
    verb, doing = singular_forms[kind]
    if kind == "contains":
        verb, doing = voice.pick("contains", "includes", "contains"), voice.pick("containing", "that contains")
    if kind == "starts":
        verb, doing = voice.pick(("starts with"), "begins with"), voice.pick("starting with", "that begins with")
    if words.is_plural(phrase):
        verb = {"contains": "contain", "includes": "include"}.get(verb, verb.replace("s with", " with"))
        doing = doing.replace("contains", "contain").replace("begins", "begin")
    if negated:
        do = "do" if words.is_plural(phrase) else "does"
        base = {"contains": "contain", "starts": "start with", "ends": "end with"}[kind]
        return Atom(
            have=f"{words.article(phrase)} that {do} not {base} {what}", whose=f"{phrase} {do} not {base} {what}"
        )
    have = f"{words.article(phrase)} {doing} {what}" if voice.chance(WITH_PATTERN) else ""
    return Atom(have=have, whose=f"{phrase} {verb} {what}")


def _letters(text: str) -> str:
    bare = text[1:-1]
    if not bare.isalpha():
        return ""
    return "the letter " if len(bare) == 1 else "the letters " if len(bare) < 4 else "the word "


def listed_values(phrase: str, texts: list[str], negated: bool, voice: Voice) -> Atom:
    """Membership in a list of literals."""
    a_phrase, is_ = words.article(phrase), words.be(phrase)
    if negated:
        if len(texts) == 2:
            return Atom(have=f"{a_phrase} that {is_} neither {texts[0]} nor {texts[1]}",
                        whose=f"{phrase} {is_} neither {texts[0]} nor {texts[1]}")  # fmt: skip
        said = voice.listed(texts, "or")
        return Atom(have=f"{a_phrase} that {is_} not {said}", whose=f"{phrase} {is_} not {said}")
    said = voice.listed(texts, "or")
    return Atom(have=f"{phrase} {said}", whose=f"{phrase} {is_} {said}")


def missing(phrase: str, negated: bool, voice: Voice) -> Atom:
    """IS [NOT] NULL."""
    is_ = words.be(phrase)
    if negated:
        known = voice.pick("recorded", "known")
        return Atom(have=words.article(f"{known} {phrase}"), whose=f"{phrase} {is_} {known}")
    gone = voice.pick("not recorded", "missing", "unknown")
    none = voice.pick(f"no recorded {phrase}", f"no {phrase} recorded", f"no {phrase} on record")
    return Atom(have=none, whose=f"{phrase} {is_} {gone}", after=f"without a recorded {phrase}" if is_ == "is" else "")


def _older(phrase: str, operator: Comparator, text: str) -> str:
    """ "older than 56", "costing more than 5": where one word tells which column is meant."""
    if phrase in ("price", "cost") and operator in ("<", ">"):
        return f"costing {'more' if operator == '>' else 'less'} than {text}"
    if phrase in ("height", "weight") and operator in ("<", ">"):
        pair = ("taller", "shorter") if phrase == "height" else ("heavier", "lighter")
        return f"{pair[operator == '<']} than {text}"
    if phrase != "age":
        return ""
    old = f"at least {text} years old" if text[:1].isdigit() else ""
    return {">": f"older than {text}", "<": f"younger than {text}", ">=": old}.get(operator, "")


def counted(phrase: str) -> str:
    """What a phrase counts: "number of platforms" -> "platforms"; "" for other phrases."""
    if phrase.startswith("number of ") and words.is_plural(phrase[10:]):
        return phrase[10:]
    behind = words.head(phrase)[1]
    done = words.is_participle(behind.strip())  # "games played"
    placed_so = behind.startswith(_PLACED) and not without_unit(phrase)[1]
    simple = (behind == "" or done or placed_so) and words.is_plural(phrase)
    return phrase if simple and words.last_word(phrase).lower() not in NOT_COUNTED else ""


def placed(phrase: str, text: str, voice: Voice) -> str:
    """Where a column says a place or a kind, the preposition that leads to it, if one does."""
    last = words.last_word(phrase).lower()
    if phrase in ("city", "state", "county", "province", "district", "region", "town"):
        return voice.pick(f"in the {phrase} of {text}", f"in {phrase} {text}")
    if phrase in ("country", "nation", "continent", "nationality"):
        return voice.pick(f"from {text}", f"in {text}") if phrase != "nationality" else ""
    if phrase == "month":
        return f"in {text}"
    if phrase == "headquarters":
        return f"with headquarters in {text}"
    if phrase in ("location", "venue"):
        return voice.pick(f"in {text}", f"at {text}") if phrase == "location" else f"in {phrase} {text}"
    if phrase in CONTAINERS and phrase not in ("order", "month", "year", "grade"):
        return voice.pick(f"in {phrase} {text}", f"in the {phrase} {text}")
    if last in _KINDS and voice.chance(OF_KIND):
        return f"of {phrase} {text}"
    return ""
