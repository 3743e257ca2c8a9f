"""Values for one column, each a pure function of a hint, a count and a random stream."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from agro_data.databases.types import Cell
from agro_data.populate.hints import Choice, Clock, Compose, Moment, Number, Series, Words, choice
from agro_data.populate.schema import PopulateError

if TYPE_CHECKING:
    from faker import Faker

LOCALE = "en_US"
TRIES = 200  # draws for one unique value before it gets a number appended

Independent = Series | Choice | Number | Moment | Clock | Words | Compose

# What a `Words` hint may ask for, and the Faker method that makes it. Names are composed of two methods because
# `name()` adds titles and suffixes that no column of names has.
WORDS: dict[str, tuple[str, ...]] = {
    "first_name": ("first_name",),
    "last_name": ("last_name",),
    "full_name": ("first_name", "last_name"),
    "company": ("company",),
    "city": ("city",),
    "street": ("street_address",),
    "state": ("state_abbr",),
    "postcode": ("postcode",),
    "country": ("country",),
    "country_code": ("country_code",),
    "email": ("email",),
    "user_name": ("user_name",),
    "url": ("url",),
    "ip_address": ("ipv4",),
    "job": ("job",),
    "color": ("color_name",),
    "word": ("word",),
    "sentence": ("sentence",),
    "paragraph": ("paragraph",),
    "catch_phrase": ("catch_phrase",),
    "isbn": ("isbn13",),
    "iban": ("iban",),
    "license_plate": ("license_plate",),
    "currency_code": ("currency_code",),
    "file_name": ("file_name",),
    "uuid": ("uuid4",),
}
PATTERNS = {"phone": "(###) 555-####", "digits": "#########", "tax_id": "##-#######"}


def new_faker() -> Faker:
    """A Faker of the one locale; callers seed it for each column."""
    from faker import Faker  # noqa: PLC0415  (a quarter of a second; most processes need none)

    return Faker(LOCALE)


def generate(maker: Independent, count: int, rng: random.Random, faker: Faker, unique: bool = False) -> list[Cell]:
    """`count` values that depend on no other column.

    With `unique` no value comes twice; where the hint has too few, text gets a number appended and numbers and dates
    raise `PopulateError`.
    """
    if isinstance(maker, Series):
        numbers = range(maker.start, maker.start + count * maker.step, maker.step)
        return [maker.template.format(n) if maker.template else n for n in numbers]
    if unique and isinstance(maker, Choice) and count > len(maker.values):
        raise PopulateError(f"{count} different values are wanted, the choice has {len(maker.values)}")
    draw = drawer(maker, rng, faker)
    return _distinct(draw, count) if unique else [draw() for _ in range(count)]


def drawer(maker: Independent, rng: random.Random, faker: Faker) -> Callable[[], Cell]:
    """A function that draws one value at each call."""
    match maker:
        case Choice(values, weights):
            total = list(accumulate(weights))
            return lambda: rng.choices(values, cum_weights=total)[0]
        case Number():
            return _number_drawer(maker, rng)
        case Moment():
            return lambda: _moment(maker, rng)
        case Clock(low, high):
            return lambda: f"{rng.randint(low, high):02}:{rng.randrange(60):02}:00"
        case Compose(pattern, parts):
            return lambda: pattern.format(*(rng.choice(part) for part in parts))
        case Words(kind, pool):
            draw = _words_drawer(kind, rng, faker)
            return drawer(choice([draw() for _ in range(pool)]), rng, faker) if pool else draw
        case _:
            raise PopulateError(f"{type(maker).__name__} cannot be drawn value by value")


def slug(text: str) -> str:
    """`text` as it stands in an address: lower case, ASCII, dots for spaces."""
    return re.sub(r"[^a-z0-9.@_-]+", "", text.lower().replace(" ", "."))


def _distinct(draw: Callable[[], Cell], count: int) -> list[Cell]:
    seen: dict[Cell, None] = {}
    while len(seen) < count:
        value = draw()
        tries = 0
        while value in seen and tries < TRIES:
            value, tries = draw(), tries + 1
        if value in seen:
            if not isinstance(value, str):
                raise PopulateError(f"{count} different values are wanted, the hint gives about {len(seen)}")
            number = 2
            while f"{value} {number}" in seen:
                number += 1
            value = f"{value} {number}"
        seen[value] = None
    return list(seen)


def _number_drawer(maker: Number, rng: random.Random) -> Callable[[], Cell]:
    low, high = maker.low, maker.high
    if high < low:
        raise PopulateError(f"a number from {low} to {high} is empty")
    if maker.distribution == "zipf":
        ranks = range(int(low), int(high) + 1)
        total = list(accumulate((i + 1) ** -1.2 for i in range(len(ranks))))
        return lambda: rng.choices(ranks, cum_weights=total)[0]

    def raw() -> float:
        if maker.distribution == "uniform" or high == low:
            return rng.uniform(low, high)
        if maker.distribution == "normal":
            return rng.gauss((low + high) / 2, (high - low) / 6)
        shift = 1 - low if low <= 0 else 0.0
        a, b = math.log(low + shift), math.log(high + shift)
        return math.exp(rng.gauss((a + b) / 2, (b - a) / 5)) - shift

    def draw() -> Cell:
        value = raw()
        while not low <= value <= high:
            value = raw()
        return round(value, maker.decimals) if maker.decimals else round(value)

    if maker.distribution == "uniform" and not maker.decimals:
        return lambda: rng.randint(int(low), int(high))
    return draw


def _moment(maker: Moment, rng: random.Random) -> str:
    share = rng.random() ** (1 / maker.growth)
    if not maker.time:
        return (maker.start + timedelta(days=int(share * ((maker.end - maker.start).days + 1)))).isoformat()
    start = datetime.combine(maker.start, datetime.min.time())
    day = start + timedelta(days=int(share * ((maker.end - maker.start).days + 1)))
    # people are awake by day: most events fall between six in the morning and eleven at night
    return (day + timedelta(seconds=int(rng.triangular(6, 23, 15) * 3600))).isoformat(" ")


def _words_drawer(kind: str, rng: random.Random, faker: Faker) -> Callable[[], Cell]:
    if kind in PATTERNS:
        pattern = PATTERNS[kind]
        return lambda: re.sub("#", lambda _: str(rng.randrange(10)), pattern)
    if kind not in WORDS:
        raise PopulateError(f"no words of kind {kind!r}; there are {', '.join(sorted((*WORDS, *PATTERNS)))}")
    faker.seed_instance(rng.getrandbits(64))
    methods = [getattr(faker, name) for name in WORDS[kind]]
    return lambda: " ".join(method() for method in methods)


def add_months(start: date, months: int) -> date:
    """`start` a number of months later, on the last day of a month that is too short."""
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(start.day, (following - timedelta(days=1)).day))
