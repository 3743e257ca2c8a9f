"""What a column is for: its role, judged from its words, its keys and its values together."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agro_data.profiling.columns.statistics import Statistics
from agro_data.profiling.names.denoting import done_by_somebody, is_single
from agro_data.profiling.names.people import PEOPLE
from agro_data.profiling.names.units import is_sign
from agro_data.profiling.names.words import head_place, is_participle, is_word, word_set
from agro_data.profiling.profile import Role

_YES_NO = tuple(
    frozenset(pair)
    for pair in (
        ("y", "n"), ("yes", "no"), ("t", "f"), ("true", "false"), ("0", "1"), ("on", "off"), ("good", "bad"),
    )
)  # fmt: skip
_YEAR_KEYS = (["year", "id"], ["year", "key"])
_ASKING = word_set("is has")
_IDENTIFYING = word_set(
    "id ids code codes phone telephone mobile fax zip postcode postal ssn isbn issn iban sku ean upc vin uuid guid key "
    "email mail url uri website password login hash token index serial barcode ip icao iata imdb cik extension sk"
)
_NUMBERING = word_set(
    "number order rank ranking position sequence round place line lap stop grid seed major advisor manager supervisor "
    "room classroom owner leader author teacher building"
)
_GROUPING = word_set(
    "type class category group level grade season status quarter month weekday day week gender sex floor gate platform "
    "cylinder cylinders star stars tier division semester term terms cycle version decade priority zone timezone kind "
    "flag mode stage phase"
)
_NAMING = word_set("name title label")
_CLASSIFYING = word_set(
    "type class category status gender sex country nationality city state color colour party position level grade "
    "language genre brand currency region continent department major industry role result method"
)
_QUANTITY = word_set(
    "amount price cost salary total count quantity balance age weight height length width capacity population score "
    "points rating revenue budget profit sales area distance duration speed temperature percentage percent share rate "
    "votes attendance hours days weeks months years minutes seconds milliseconds bytes size latitude longitude "
    "altitude elevation units credit stock dose occupancy fee tax discount average maximum minimum"
)
_COUNTED = word_set("bed bedroom bath bathroom room garage door floor pet goal") | PEOPLE  # in the singular, too
_CLASSES = _CLASSIFYING - {"result", "position"}  # also where they are numbers: a state of 3
_PARTS = {"hour": 24, "minute": 60, "second": 60, "day": 366, "weekday": 7, "week": 53, "month": 12, "quarter": 4}
_TURNED = word_set("direction bearing angle heading azimuth")  # degrees: north is the mean of 350 and 10, not 180
_CLOCK = word_set("time hhmm clock")
_FEW = 60  # values at most of what groups or grades
_CODES, _CODED = 10, 10  # the most codes that are numbers one after another, and the rows that each has on average
_RUNNING = 20  # rows that no quantity numbers one after another
_HOURS = 600  # the least that the latest of a day's times is written as: 10:00
_SEVERAL = re.compile(r"[\[({].*,.*[\])}]|empty", re.DOTALL)  # a range, a point or a row, as PostgreSQL writes them
_FILE = re.compile(
    r"(?:https?|ftp|file)://\S+|.*\.(?:bmp|gif|jpe?g|png|svg|webp|tiff?|ico|pdf|docx?|xlsx?|pptx?|mp[34]|wav|mov|avi|zip)",
    re.IGNORECASE | re.DOTALL,
)  # where something is kept
_DATED = word_set("date datetime timestamp epoch")  # of a number: 20240131, or days or seconds since some day
_TIMED = word_set(
    "timestamp time at date on am day when created updated modified changed deleted removed expires expired expiry "
    "until since from to seen login logged started ended begins ends start end"
)  # of a number that may count seconds since 1970
_SECONDS, _SCALES = (1e9, 2.2e9), (1, 1e3, 1e6)  # from 2001 to 2039, in seconds or parts of them
_DAYS = 10  # as many days as no column of other numbers holds by chance
_EPOCH = 1e8  # seconds from 1970 to 1973: a time of more is a moment, not a duration
_DATING = word_set("year founded built established founding creation created opened launched launch season debut born")
_UNITS = {
    ("dollars",): "dollars", ("usd",): "US dollars", ("euros",): "euros", ("pounds",): "pounds", ("eur",): "euros",
    ("gbp",): "pounds", ("cents",): "cents", ("cent",): "cents", ("mg",): "mg", ("ml",): "ml",
    ("percentage",): "%", ("percent",): "%", ("km",): "km",
    ("kg",): "kg", ("cm",): "cm", ("mm",): "mm", ("meters",): "m",
    ("metres",): "m", ("feet",): "feet", ("miles",): "miles", ("inches",): "inches", ("mph",): "mph",
    ("milliseconds",): "ms", ("seconds",): "s", ("minutes",): "minutes", ("hours",): "hours",
    ("latitude",): "degrees", ("longitude",): "degrees", ("kwh",): "kWh", ("billion",): "billion",
    ("billions",): "billion", ("million",): "million", ("millions",): "million", ("mib",): "MiB", ("mb",): "MB",
    ("kb",): "kB", ("gb",): "GB",
}  # fmt: skip
_SHORT_UNITS = word_set("g m l s ms")  # units behind "in" only: a "g" or an "m" alone may be anything


@dataclass(frozen=True)
class Place:
    """Where a column stands in the keys of its table."""

    sole_key: bool = False  # the whole primary key or a one-column unique key
    part_of_key: bool = False
    refers: bool = False  # the child side of a foreign key
    opaque: bool = False  # of a type whose values mean nothing: UUID
    called_as_table: bool = False  # a number "flight" of a flight
    names_rows: bool = False  # numbers that rows of another table have, called as these are: an "employee" of 12


def role_of(words: list[str], statistics: Statistics, place: Place) -> Role:
    """The role of a column whose expanded name is `words`.

    Numbers are measures unless their name, key or values say otherwise: doing arithmetic on an identifier is the
    fault that a reader notices first. Empty columns are judged by name and declaration.
    """
    kind = statistics.kind
    while len(words) > 1 and words[-1].isdigit():  # "concept id 1" is an ID
        words = words[:-1]
    if place.opaque:
        return "identifier"
    if kind in ("blob", "other"):
        return "identifier" if kind == "other" and _identifies(words) else "other"
    if kind == "boolean" or _two_valued(words, statistics):
        return "boolean"
    if kind in ("date", "datetime"):
        return "date"
    if kind in ("integer", "real"):
        return _number_role(words, statistics, place)
    return _text_role(words, statistics, place)


def unit_of(words: list[str]) -> str:
    """The unit that the words of a name state, or ""."""
    if words[-2:-1] == ["in"] and (words[-1] in _SHORT_UNITS or is_sign(words[-1])):
        return words[-1]
    return next((unit for mark, unit in _UNITS.items() if mark[0] in words[-2:]), "")


def _number_role(words: list[str], statistics: Statistics, place: Place) -> Role:
    last = words[head_place(words)] if words else ""
    quantity = not _QUANTITY.isdisjoint(words)
    if _is_count(words, last) and not (place.part_of_key and statistics.integral):  # "no_ligne" numbers the lines
        return "measure"
    if words in _YEAR_KEYS and statistics.years and not place.refers:
        return "year"
    if place.refers or (place.sole_key and not statistics.years) or _identifies(words):
        return "identifier"
    if _is_year(words, last, statistics, quantity):
        return "year"
    if _part_of_date(last, statistics):
        return "category"
    if last in _NUMBERING or (last in _TURNED and _within(statistics, -180, 360)):
        return "category" if _repeats(statistics, 60) else "identifier"
    if place.called_as_table and statistics.integral and last not in _QUANTITY and statistics.distinct > _FEW:
        return "identifier"
    if last in _GROUPING | _CLASSES and statistics.integral and _repeats(statistics, 40):
        return "category"
    if not quantity and (place.part_of_key or _names_row(words, statistics, place)):
        return "identifier"
    if not quantity and _is_code(words, last, statistics):
        return "category"
    return "identifier" if _is_moment(words, last, statistics) or _is_clock(last, statistics) else "measure"


def _names_row(words: list[str], statistics: Statistics, place: Place) -> bool:
    """Whether whole numbers stand for rows or persons, or number the rows of their own table one after another."""
    if not statistics.integral:
        return False
    return place.names_rows or done_by_somebody(words) or (statistics.unique and _runs(statistics, _RUNNING))


def _is_code(words: list[str], last: str, statistics: Statistics) -> bool:
    """Whether a few numbers one after another, which many rows share, stand for kinds: a "role" of 0, 1 or 2.

    What there are several of is said in the plural, or is done ("injured"): that is a quantity however small.
    """
    several = not is_single(last) or is_participle(last) or not is_word(last) or last in _COUNTED or unit_of(words)
    few = 2 <= statistics.distinct <= _CODES and statistics.filled >= _CODED * statistics.distinct
    return few and not several and _runs(statistics, 2)


def _runs(statistics: Statistics, least: int) -> bool:
    """Whether there are `least` numbers or more, whole, one after another, from 0 or 1."""
    low, high = statistics.minimum, statistics.maximum
    if not statistics.integral or not isinstance(low, int | float) or not isinstance(high, int | float):
        return False
    return statistics.distinct >= least and low in (0, 1) and high - low + 1 == statistics.distinct


def _is_count(words: list[str], last: str) -> bool:
    """Whether the name says how many there are of something: "number of seats", "headcount"."""
    return words[:2] == ["number", "of"] or last.endswith("count")


def _is_year(words: list[str], last: str, statistics: Statistics, quantity: bool) -> bool:
    """Whether numbers are years, by their values and name; by the name "year" alone where there are no values.

    `quantity`: a word says that something is measured, as a price of 1999 is.
    """
    if statistics.years and (not _DATING.isdisjoint(words) or (_recent(statistics) and not quantity)):
        return True
    return last == "year" and not statistics.distinct


def _part_of_date(last: str, statistics: Statistics) -> bool:
    """Whether whole numbers say where in a day or year something was: the month, not how many months."""
    return last in _PARTS and statistics.integral and _within(statistics, 0, _PARTS[last])


def _is_clock(last: str, statistics: Statistics) -> bool:
    """Whether numbers are times of the day as 1745 for 17:45: none is 60 minutes after the hour or more."""
    if last not in _CLOCK or not statistics.integral or not _within(statistics, 0, 2400):
        return False
    known = {v for v in (*statistics.quantiles, *(v for v, _ in statistics.common)) if isinstance(v, int | float)}
    return len(known) >= 10 and max(known) >= _HOURS and all(value % 100 < 60 for value in known)


def _is_moment(words: list[str], last: str, statistics: Statistics) -> bool:
    """Whether numbers stand for days or moments, of which no sum makes sense."""
    least = statistics.minimum
    if last in _DATED or (last == "time" and isinstance(least, int | float) and least >= _EPOCH):
        return True
    if statistics.days and statistics.distinct >= _DAYS:
        return True
    since = any(_within(statistics, _SECONDS[0] * scale, _SECONDS[1] * scale) for scale in _SCALES)
    return since and last not in _QUANTITY and not _TIMED.isdisjoint(words)


def _text_role(words: list[str], statistics: Statistics, place: Place) -> Role:
    last = words[-1] if words else ""
    if statistics.structured or _all_match(_SEVERAL, statistics):
        return "other"  # nobody types a document of JSON, or a range, or asks for the rows that share one
    if statistics.years:
        return "year"
    if statistics.mean_words >= 9 or statistics.mean_length > 100:
        return "free_text"
    if _identifies(words):
        grouping = last == "code" and not place.sole_key and _repeats(statistics, 50)
        return "category" if grouping else "identifier"
    if last in _NAMING and not _repeats(statistics, 30):
        return "text"
    if statistics.markers or statistics.separators:
        # Nobody asks which rows have '21.864819999999998', and '9.5' would stand behind '10.5'.
        decimals = statistics.separators or any("." in str(value) for value, _ in statistics.common)
        return "other" if decimals else "category"
    if statistics.kind == "text" and last in _NUMBERING and statistics.digits:
        return "category" if _repeats(statistics, 50) else "identifier"
    if not statistics.distinct:
        return "text"
    if _all_match(_FILE, statistics):
        return "identifier"  # several share a picture, which makes no group of them
    if _repeats(statistics, 50):
        return "category"
    if last in _CLASSIFYING and statistics.distinct < statistics.filled and statistics.distinct <= 200:
        return "category"
    return "text"


def _all_match(form: re.Pattern[str], statistics: Statistics) -> bool:
    """Whether all of the commonest values, one or more, are texts of a form."""
    known = [value for value, _ in statistics.common]
    return bool(known) and all(isinstance(value, str) and form.fullmatch(value) for value in known)


def _within(statistics: Statistics, least: float, most: float) -> bool:
    """Whether there are numbers, all of them from `least` to `most`."""
    low, high = statistics.minimum, statistics.maximum
    return isinstance(low, int | float) and isinstance(high, int | float) and least <= low and high <= most


def _recent(statistics: Statistics) -> bool:
    return statistics.distinct >= 3 and _within(statistics, 1800, 2050)


def _identifies(words: list[str]) -> bool:
    if not words:
        return False
    last = words[-1]
    if last in _IDENTIFYING or words[-2:] == ["lock", "version"]:
        return True
    if last in ("number", "address") and len(words) > 1 and words[-2] in _IDENTIFYING | {"account", "card", "license"}:
        return True
    # A number at the end of a name names things ("flight number"); "number of ..." counts them.
    return last == "number" or (words[0] in ("id", "zip") and len(words) == 2)


def _repeats(statistics: Statistics, most: int) -> bool:
    """Few values, each held by two rows or more on average."""
    return 0 < statistics.distinct <= most and statistics.filled >= 2 * statistics.distinct


def _two_valued(words: list[str], statistics: Statistics) -> bool:
    if not 1 <= statistics.distinct <= 2 or statistics.filled < 2:
        return False
    if {"gender", "sex"} & set(words) and words[0] not in _ASKING:
        return False
    numeric = statistics.kind in ("integer", "real")
    if _identifies(words) or (numeric and {"count", "amount", "quantity", "number"} & set(words)):
        return False
    if statistics.distinct == 2:
        return statistics.few in _YES_NO
    # One value alone proves a flag only when the name says so.
    return any(statistics.few <= pair for pair in _YES_NO) and bool((_ASKING | {"flag"}) & set(words))
