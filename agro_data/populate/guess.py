"""A hint for a column when only its name and kind, and perhaps role and counts, are known."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from agro_data.populate.hints import (
    Choice,
    Clock,
    ColumnHint,
    Compose,
    Maker,
    Moment,
    Number,
    Series,
    Words,
    choice,
)
from agro_data.populate.schema import ColumnSpec
from agro_data.profiling.profile import Role
from agro_data.sql.said import plain

START, END = date(2018, 1, 1), date(2024, 12, 31)

# Meaning of a column by its words, most specific first; `\b` works because names are split into words before.
_TEXTS: tuple[tuple[str, str], ...] = (
    (r"e ?mail", "email"),
    (r"phone|mobile|fax|telephone", "phone"),
    (r"user ?name|login|handle|nick", "user_name"),
    (r"url|website|web page|homepage|link", "url"),
    (r"zip|post(al)? ?code|postcode", "postcode"),
    (r"\bip\b", "ip_address"),
    (r"isbn", "isbn"),
    (r"iban", "iban"),
    (r"license plate|number plate", "license_plate"),
    (r"first name|forename|given name|fname", "first_name"),
    (r"last name|surname|family name|lname|middle name", "last_name"),
    (r"(country|nationality) (code|abbrev\w*|iso)", "country_code"),
    (r"country|nation(ality)?|citizenship", "country"),
    (r"city|town|municipality|hometown|birth ?place|destination|origin|location|venue", "city"),
    (r"street|address", "street"),
    (r"state|province|county|region", "state"),
    (r"colou?r", "color"),
    (r"currency", "currency_code"),
    (r"job|occupation|profession|position title", "job"),
    (r"company|employer|publisher|manufacturer|supplier|vendor|brand|organi[sz]ation|sponsor", "company"),
    (r"description|comments?|notes?|remarks?|summary|abstract|message|body|review", "sentence"),
    (
        r"(full|person|author|customer|employee|student|teacher|player|patient|owner|contact|manager) name",
        "full_name",
    ),
    (r"author|artist|director|president|captain|coach|singer|actor|writer|composer|owner", "full_name"),
)
_TELLING = 9  # as many of them, from the first, also say what an identifier looks like
_PEOPLE = re.compile(
    r"person|people|customer|client|employee|staff|student|teacher|player|patient|member|user|author|artist|actor|"
    r"doctor|physician|nurse|driver|guest|passenger|pilot|singer|director|professor|instructor|faculty|candidate|"
    r"visitor|inhabitant|swimmer|host|owner|referee|coach|agent|tenant|subscriber|contact"
)
_COMPANIES = re.compile(r"company|supplier|vendor|manufacturer|publisher|airline|brand|employer|sponsor|carrier")

_CATEGORIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"(country|nationality) (code|abbrev\w*|iso)",
        ("US", "DE", "FR", "JP", "BR", "IN", "CA", "ES", "IT", "MX", "AU", "SE"),
    ),
    (
        r"country|nation|nationality|citizenship",
        (
            "United States",
            "Germany",
            "France",
            "Japan",
            "Brazil",
            "India",
            "Canada",
            "Spain",
            "Italy",
            "Mexico",
            "Australia",
            "Sweden",
        ),
    ),
    (r"gender|sex", ("F", "M", "X")),
    (
        r"status|state of",
        ("active", "pending", "closed", "cancelled", "on hold", "draft", "archived", "expired"),
    ),
    (r"priority|severity|urgency", ("low", "medium", "high", "critical")),
    (
        r"level|grade|tier|class",
        ("basic", "standard", "advanced", "premium", "elite", "trial", "senior", "junior"),
    ),
    (r"size", ("small", "medium", "large", "extra large", "extra small")),
    (
        r"payment|pay method|card",
        ("credit card", "bank transfer", "cash", "direct debit", "voucher", "cheque"),
    ),
    (r"channel|source", ("online", "shop", "phone", "partner", "mail", "app", "fair", "agent")),
    (r"season|quarter", ("spring", "summer", "autumn", "winter")),
    (r"weekday|day of", ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")),
    (
        r"language",
        ("English", "Spanish", "French", "German", "Italian", "Portuguese", "Dutch", "Polish", "Japanese"),
    ),
    (r"continent|region", ("Europe", "Asia", "North America", "Africa", "South America", "Oceania")),
    (r"genre", ("drama", "comedy", "documentary", "thriller", "romance", "fantasy", "history", "crime")),
    (r"result|outcome", ("win", "loss", "draw", "void")),
    (r"currency", ("EUR", "USD", "GBP", "CHF", "JPY", "SEK")),
    (
        r"department|dept|division",
        ("Sales", "Finance", "Research", "Support", "Logistics", "Legal", "Marketing"),
    ),
)
_GENERIC = (
    "North", "Harbor", "Summit", "River", "Maple", "Granite", "Silver", "Meadow", "Falcon", "Ocean", "Prairie", "Cedar",
    "Aurora", "Beacon", "Canyon", "Delta", "Ember", "Forest", "Garnet", "Horizon", "Island", "Juniper", "Keystone",
)  # fmt: skip
_NOUNS = (
    "Plan", "Line", "Group", "Point", "House", "Works", "Bridge", "Garden", "Star", "Gate", "Field", "Tower", "Path",
    "Circle", "Station", "Project", "Series", "Trust", "Park", "Court", "Signal", "Lake", "Crown", "Mill",
)  # fmt: skip


def words_of(name: str) -> str:
    """`name` as plain words: "birthDate", "BIRTH_DATE" and "birth date" are all "birth date", "âge" is "age".

    Not `words_in`: the meanings above know "lname" and the like, however it is written.
    """
    return plain(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name))


def guess_hint(
    table: str,
    column: ColumnSpec,
    *,
    phrase: str = "",
    role: Role | None = None,
    distinct: int = 0,
    unique: bool = False,
    null_share: float | None = None,
) -> ColumnHint:
    """A hint that gives plausible values from names alone.

    `phrase` is the column's natural name where it is known; `role` and `distinct` steer the choice between a
    category and a text. No value of any database is used.
    """
    words = f"{phrase} {words_of(column.name)}".strip()
    return ColumnHint(_maker(_Facts(words_of(table), words, role, distinct, unique), column), null_share, unique)


@dataclass(frozen=True)
class _Facts:
    table: str
    words: str
    role: Role | None
    distinct: int
    unique: bool


def _maker(facts: _Facts, column: ColumnSpec) -> Maker:
    words, role = facts.words, facts.role
    if role == "date" and column.kind in ("integer", "real"):
        return Number(1_514_764_800, 1_735_603_200)  # seconds since 1970: 2018 to 2024
    if column.kind == "date" or (role == "date" and column.kind != "datetime"):
        return _date(words, time=False)
    if column.kind == "datetime":
        return _date(words, time=True)
    if column.kind == "time":
        return Clock(6, 22)
    if column.kind == "boolean" or (role == "boolean" and column.kind in ("integer", "real")):
        return Choice((1, 0), (0.65, 0.35))
    if column.kind in ("integer", "real"):
        return _numeric(facts, column)
    if role == "boolean":
        return Choice(("Y", "N"), (0.65, 0.35))
    return _text(facts)


def _date(words: str, *, time: bool) -> Moment:
    if re.search(r"birth|dob\b|born", words):
        return Moment(date(1945, 1, 1), date(2004, 12, 31), time)
    if re.search(r"hire|join|start|since|open|found|effective|regist|creat", words):
        return Moment(date(2012, 1, 1), date(2021, 12, 31), time)
    if re.search(r"end|expir|due|until|valid to|clos|termin|leav", words):
        return Moment(date(2022, 1, 1), date(2026, 12, 31), time)
    return Moment(START, END, time, growth=1.4)


def _numeric(facts: _Facts, column: ColumnSpec) -> Maker:
    words, role, unique = facts.words, facts.role, facts.unique
    decimals = 0 if column.kind == "integer" else 2
    if role == "year" or re.search(r"\byear\b", words):
        return Number(1950, 2005) if re.search(r"birth|found|born", words) else Number(1995, 2024)
    if role == "category":
        return choice(list(range(1, max(2, min(facts.distinct or 5, 12)) + 1)))
    if unique and (role == "identifier" or column.kind == "integer"):
        return Series(1001 if role == "identifier" else 1)
    for pattern, low, high in _RANGES:
        if re.search(pattern, words):
            return Number(low, high, "lognormal" if high / max(low, 1) > 50 else "normal", decimals)
    if role == "identifier":
        return Number(1, 9999)
    return Number(1, 50_000, "lognormal", decimals)


_RANGES: tuple[tuple[str, float, float], ...] = (
    (r"\bage\b", 18, 90),
    (r"salary|income|wage", 18_000, 240_000),
    (r"population", 2_000, 9_000_000),
    (r"budget|revenue|sales|turnover|profit|assets|market value", 10_000, 80_000_000),
    (r"percent|\bpct\b|share|\brate\b|ratio", 0.5, 99.5),
    (r"latitude", -60, 70),
    (r"longitude", -170, 170),
    (r"rating|stars", 1, 10),
    (r"score|points|grade", 1, 1_000),
    (r"price|cost|fee|fare|amount|total|balance|payment|charge|premium", 3, 9_000),
    (r"weight", 1, 2_000),
    (r"height|length|width|depth|distance|area|elevation|altitude", 5, 8_000),
    (r"duration|minutes|seconds|hours", 2, 5_000),
    (r"quantity|\bqty\b|stock|capacity|count|number of|num\b|enrol", 1, 4_000),
    (r"rank|order|position|sequence", 1, 300),
    (r"month", 1, 12),
    (r"\bday\b", 1, 28),
)


def _text(facts: _Facts) -> Maker:
    words, role, unique = facts.words, facts.role, facts.unique
    category = role == "category" and not unique
    if role == "year":
        return choice([str(year) for year in range(2024, 1994, -1)])
    if category:
        known = _category(words, facts.distinct)
        if known is not None:
            return known
    for pattern, kind in _TEXTS[: None if role != "identifier" else _TELLING]:
        if re.search(rf"\b({pattern})\b", words):
            return Words(kind, pool=facts.distinct or 5 if category else 0)
    if category:
        return choice(list(_GENERIC[: max(2, min(facts.distinct or 5, 12))]))
    if role == "free_text":
        return Words("sentence")
    if role == "identifier" or re.search(r"\b(code|number|no|id|sku|abbr(eviation)?|ref(erence)?)\b", words):
        head = "".join(word[0] for word in words.split()[:2]).upper()
        return (
            Series(template=f"{head}-{{:04}}", start=101) if unique else Compose("{}{}", (tuple("ABCDEF"), _digits()))
        )
    if re.fullmatch(
        r"(name|label)( name| label)*", re.sub(rf"\b({'|'.join(facts.table.split())})\b ?", "", words).strip()
    ):
        if _PEOPLE.search(facts.table):
            return Words("full_name")
        if _COMPANIES.search(facts.table):
            return Words("company")
    return Compose("{} {}", (_GENERIC, _NOUNS))


def _digits() -> tuple[str, ...]:
    return tuple(f"{n:03}" for n in range(1, 1000))


def _category(words: str, distinct: int) -> Choice | None:
    size = max(2, min(distinct or 5, 12))
    for pattern, values in _CATEGORIES:
        if re.search(rf"\b({pattern})\b", words) and len(values) >= min(size, 3):
            return choice(values[:size])
    return None
