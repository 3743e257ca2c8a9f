"""Questions of those who do not speak as the schema does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from profiles_by_hand import column, table

from agro_data.intent.questions import STYLES, render_question
from agro_data.intent.questions.naming import words
from agro_data.intent.questions.naming.other_words import in_other_words, other_words
from agro_data.intent.tree import Aggregate, Column, Intent, Join, Output, Query, Source
from agro_data.profiling.profile import DatabaseProfile, ForeignKey

COUNTRY = table("country", column("name", "text", "text", "name", unique=True))
SINGER = table(
    "singer",
    column("name", "text", "text", "name", unique=True),
    column("born", "date", "date", "birth date", date_format="iso"),
    column("country_id", "integer", "identifier", "country id"),
)
SONG = table(
    "song", column("title", "text", "text", "title"), column("singer_id", "integer", "identifier", "singer id")
)
KEYS = (
    ForeignKey("singer", ("country_id",), "country", ("id",)),
    ForeignKey("song", ("singer_id",), "singer", ("id",)),
)
PROFILE = DatabaseProfile("music", "sqlite", "0" * 64, (COUNTRY, SINGER, SONG), KEYS)
BORN = Query((Source("a", "singer"),), (Output(Column("a", "born")),))
COUNTED = Query(
    (Source("a", "singer"), Source("c", "country")),
    (Output(Column("c", "name")), Output(Aggregate("count"))),
    joins=(Join("a", "c", (("country_id", "id"),), "inner", "up"),),
    group_by=(Column("c", "name"),),
)


def asked(query: Query, profile: DatabaseProfile = PROFILE) -> list[str]:
    intent = Intent("music", "list", query, 7)
    return [
        render_question(intent, in_other_words(profile, intent, seed), style, seed).text
        for style in STYLES
        for seed in range(40)
    ]


def test_some_questions_are_in_other_words_and_the_rest_are_as_they_were() -> None:
    texts = asked(BORN)
    other = [text for text in texts if "vocalist" in text or "birthday" in text or "of birth" in text]
    assert len(texts) / 4 < len(other) < len(texts) * 3 / 4
    assert all("singer" in text and "birth date" in text for text in texts if text not in other)
    assert any("vocalists" in text for text in other)
    assert texts == asked(BORN)


def test_a_word_is_another_one_everywhere_in_a_question() -> None:
    for text in asked(COUNTED):
        assert not ("nation" in text.split() and "countr" in text), text
        assert not ("vocalist" in text and "singer" in text), text
    assert any("nation" in text and "vocalist" in text for text in asked(COUNTED))


def test_what_is_said_with_of_ends_a_name() -> None:
    """The population is a number of inhabitants, the population density no density of these."""
    columns = (
        column("population", "integer", "measure", "population"),
        column("d", "real", "measure", "population density"),
    )
    city = table("place", *columns)
    query = Query((Source("a", "place"),), (Output(Column("a", "population")), Output(Column("a", "d"))))
    texts = asked(query, DatabaseProfile("music", "sqlite", "0" * 64, (city,), ()))
    assert any("number of inhabitants" in text for text in texts)
    assert not any("inhabitants density" in text or "residents density" in text for text in texts)


def test_a_word_within_a_name_stays_unless_it_is_a_tables() -> None:
    """What orders are shipped via is no vessel; the city of a shop is the town of a store."""
    columns = (
        column("ship_via", "text", "text", "ship via"),
        column("type_concept_id", "integer", "measure", "type concept id"),
        column("shop_city", "text", "text", "shop city"),
    )
    shop, orders = table("shop", column("name", "text", "text", "name")), table("order", *columns)
    query = Query((Source("a", "order"),), tuple(Output(Column("a", c.name)) for c in columns))
    texts = asked(query, DatabaseProfile("music", "sqlite", "0" * 64, (shop, orders), ()))
    assert not [text for text in texts if "vessel" in text or "kind" in text]
    assert any("store town" in text or "store city" in text for text in texts)


def test_no_word_is_taken_that_the_database_has_for_something_else() -> None:
    vocal = replace(PROFILE, tables=(*PROFILE.tables, table("vocalist", column("name", "text", "text", "name"))))
    assert all("singer" in text for text in asked(BORN, vocal))
    nation = replace(SONG, columns=(*SONG.columns, column("nation", "text", "category", "nation")))
    assert not any("nation" in text for text in asked(COUNTED, replace(PROFILE, tables=(COUNTRY, SINGER, nation))))


def test_no_word_is_taken_that_the_schema_has_where_a_person_gave_another() -> None:
    called = replace(SINGER, name="vocalists")
    query = replace(BORN, sources=(Source("a", "vocalists"),))
    assert all(
        "singer" in text for text in asked(query, replace(PROFILE, tables=(COUNTRY, called, SONG), foreign_keys=()))
    )


def test_two_things_are_never_called_the_same() -> None:
    acts = replace(PROFILE, tables=(*(replace(one, synonyms=("act",)) for one in (COUNTRY, SINGER)), SONG))
    intent = Intent("music", "list", COUNTED, 7)
    called = [[table.singular for table in in_other_words(acts, intent, seed).tables] for seed in range(60)]
    assert any("act" in names for names in called)
    assert all(len(set(names)) == len(names) for names in called)


def test_what_a_side_file_calls_a_table_is_said() -> None:
    known = replace(PROFILE, tables=(COUNTRY, replace(SINGER, synonyms=("crooner",)), SONG))
    texts = asked(BORN, known)
    assert any("crooners" in text for text in texts)
    assert any("singers" in text for text in texts)


def test_a_name_that_a_person_gave_is_kept() -> None:
    known = replace(PROFILE, tables=(COUNTRY, replace(SINGER, named=True), SONG))
    texts = asked(BORN, known)
    assert all("singer" in text for text in texts)
    assert any("date of birth" in text for text in texts)


def test_names_of_tables_and_columns_stay() -> None:
    intent = Intent("music", "list", COUNTED, 7)
    for seed in range(20):
        other = in_other_words(PROFILE, intent, seed)
        assert [(one.name, [c.name for c in one.columns]) for one in other.tables] == [
            (one.name, [c.name for c in one.columns]) for one in PROFILE.tables
        ]


@pytest.mark.parametrize("known", sorted(other_words()))
def test_the_list_gives_names_of_one_thing(known: str) -> None:
    """Singular, in small letters, and none of them the entry itself."""
    for other in (known, *other_words()[known]):
        assert other == other.lower().strip()
        assert words.singular(other) == other
    assert known not in other_words()[known]
    assert len(set(other_words()[known])) == len(other_words()[known]) > 0


def test_the_journal_of_a_ledger_is_no_magazine() -> None:
    assert "journal" not in other_words()


def test_what_counts_things_is_not_called_as_money_is() -> None:
    assert not [known for known, others in other_words().items() if "amount" in others]
