"""The one form that the texts of a column have, where they have one."""

from __future__ import annotations

import re

import pytest

from agro_data.profiling.columns.forms import form_of, longest, only_text, parts_of

CODES = {f"P{number:04}" for number in range(30)}
PRICES = {f"${number * 12.5:,.2f}" for number in range(1, 200, 3)}
TIMES = {f"{number % 24:02}:{number * 7 % 60:02}" for number in range(60)}
NUMBERS = {*map(str, range(3, 400, 7)), "NA"}
CLOCKS = {f"{number % 12 + 1}:{number:02} {'ap'[number % 2]}m" for number in range(60)}


@pytest.mark.parametrize(
    ("texts", "kind", "others", "none"),
    [
        (CODES, "text", ["P0815", "P9999"], ["p0815", "P815", "P0815 amber", "Q0815"]),
        (PRICES, "text", ["$1,000.00", "$999.99"], ["$1000.00", "$1,000.0", "1,000.00", "$01,000.00"]),
        (TIMES, "time", ["23:59", "00:00"], ["24:00", "12:60", "9:30"]),
        (NUMBERS, "text", ["NA", "0", "999"], ["na", "07", "1.5", "-3"]),
        (CLOCKS, "time", ["12:30 pm"], ["12:30 xm", "13:30 pm"]),
        ({"05/11/2019", "31/01/2020"}, "date", ["07/07/2021"], ["7/7/2021", "2021-07-07"]),
    ],
)
def test_a_form_matches_its_texts_and_their_like(
    texts: set[str], kind: str, others: list[str], none: list[str]
) -> None:
    form = re.compile(form_of(texts, kind))
    assert all(form.fullmatch(text) for text in (*texts, *others))
    assert not any(form.fullmatch(text) for text in none)


@pytest.mark.parametrize(
    "texts",
    [
        {f"P{number}" for number in range(9)},  # too few to tell
        {f"{chr(97 + number)}bc {number}" for number in range(26)},  # many words
        {f"room {number} of {'x' * number}" for number in range(30)},
        {"amber", "birch"},
        {chr(0x660 + number % 10) * (number // 10 + 1) for number in range(40)},  # digits of another script
        set(),
    ],
)
def test_texts_without_a_form(texts: set[str]) -> None:
    assert form_of(texts) == ""


def test_parts_are_the_text() -> None:
    assert parts_of("SKU-00042 ☕ 1,5%") == ("SKU", "-", "00042", " ", "☕", " ", "1", ",", "5", "%")


@pytest.mark.parametrize(
    ("texts", "kind", "text", "only"),
    [
        (CODES, "text", "P0042", "P0042"),
        (CODES, "text", "p0042", "P0042"),
        (CODES, "text", "0042", ""),  # no code
        (PRICES, "text", "$912.50", ""),  # `$1,912.50` is longer, though it has another start
        (PRICES, "text", "$1,912.50", "$1,912.50"),
        (NUMBERS, "text", "42", ""),  # 342
        (NUMBERS, "text", "342", "342"),
        (TIMES, "time", "09:30", "09:30"),
        ({f"{number}{'aA'[number % 2]}" for number in range(30)}, "text", "12a", ""),  # 12A
    ],
)
def test_which_text_is_in_no_other(texts: set[str], kind: str, text: str, only: str) -> None:
    form = form_of(texts, kind)
    assert max(map(len, texts)) <= longest(form)
    assert only_text(text, form) == only
