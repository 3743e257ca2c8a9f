"""Is a question still true after what it asks of was renamed?"""

from __future__ import annotations

import pytest

from agro_data.migration.wording import NotTrue, Renamed, said_again

PRICE = Renamed("price", "unit_price", {"price": "unit price", "prices": "unit prices"})
CODE = Renamed("cust_cd", "client_code", {"customer code": "client code"})
HEIGHT = Renamed("height", "width", {"height": "width", "heights": "widths"}, misleading=True)
WIDTH = Renamed("width", "height", {"width": "height", "widths": "heights"}, misleading=True)
FIRST = Renamed("name", "title", {"name": "title"}, misleading=True)
UPPER = Renamed("ROW_ID", "number", {})
LOWER = Renamed("row_id", "place", {})
DOTTED = Renamed("\u0130L_ADI", "city", {})  # a Turkish letter that is two in lower case
SECOND = Renamed("name", "label", {"name": "label"}, misleading=True)


@pytest.mark.parametrize(
    ("text", "renamed", "again"),
    [
        ("What is the price of each lamp?", [PRICE], "What is the price of each lamp?"),
        ('The largest "price"?', [PRICE], 'The largest "unit_price"?'),
        ("Every cust_cd, please", [CODE], "Every client_code, please"),
        ("Every cust_cd2, please", [CODE], "Every cust_cd2, please"),
        ("Every cu\u017ft_cd, please", [CODE], "Every client_code, please"),  # a long s: the letter s in any case
        ("Every \u0130L_ADI, please", [DOTTED], "Every city, please"),
        ("Which height exceeds the width?", [HEIGHT, WIDTH], "Which width exceeds the height?"),
        ("Heights above 30", [HEIGHT], "Widths above 30"),
        ("Which lamps are there?", [HEIGHT], "Which lamps are there?"),
    ],
)
def test_a_question_keeps_its_words_unless_they_mislead(text: str, renamed: list[Renamed], again: str) -> None:
    assert said_again(text, renamed).text == again


def test_words_that_stay_are_told() -> None:
    assert said_again("The prices of lamps", [PRICE]).stays == "'prices' says in words what is called unit_price now"
    assert said_again("The price of lamps", [HEIGHT]).stays == ""


@pytest.mark.parametrize(
    ("text", "renamed", "says"),
    [
        ("What is the name of each?", [FIRST, SECOND], "may mean more than one thing"),
        ("Every row_id, please", [UPPER, LOWER], "may mean more than one thing"),
        ("Which are wider than others?", [WIDTH], "is that meant by 'wider'"),
    ],
)
def test_what_does_not_follow_is_not_true(text: str, renamed: list[Renamed], says: str) -> None:
    with pytest.raises(NotTrue, match=says):
        said_again(text, renamed)
