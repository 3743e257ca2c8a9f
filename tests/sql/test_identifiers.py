"""Which names need quotes: the engine is asked. And the words of names, in any script."""

from __future__ import annotations

import doctest
import sqlite3
import unicodedata
from contextlib import closing

import duckdb
import pytest

from agro_data.evaluation.exact_match.grammar import parse
from agro_data.evaluation.exact_match.tokens import NotRead
from agro_data.sql import identifiers
from agro_data.sql.identifiers import spelled, words_in


def test_duckdb_reads_each_of_its_words_as_a_name_as_it_is_spelled() -> None:
    with duckdb.connect() as connection:
        words = [word for (word,) in connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()]
        assert len(words) > 400
        for word in words:
            name = spelled(word)
            asked = f"SELECT {name}, COUNT(*) AS {name} FROM {name} AS a WHERE a.{name} > 1 GROUP BY {name}"
            connection.execute(f'WITH "{word}" AS (SELECT 1 AS "{word}") {asked}')


@pytest.mark.parametrize("name", ["Match", "action", "plan"])
def test_names_that_people_write_bare_are_bare(name: str) -> None:
    """SQLite reads them, and Spider's parser takes what stands in quotes for a value."""
    assert spelled(name) == name
    asked = f"SELECT T1.{name}, COUNT(*) FROM {name} AS T1 WHERE T1.{name} > 1 GROUP BY T1.{name}"
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE TABLE "{name}" ("{name}" INTEGER)')
        connection.execute(asked)
    parse(asked, {name.lower(): [name.lower()]})
    with pytest.raises(NotRead):
        parse(asked.replace(f"FROM {name}", f'FROM "{name}"'), {name.lower(): [name.lower()]})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("größe_mittel", ("größe", "mittel")),
        ("DurchschnittÜbergabe", ("Durchschnitt", "Übergabe")),
        ("prixÉlevé", ("prix", "Élevé")),
        ("numéro-série2", ("numéro", "série", "2")),
        ("fläche_m²", ("fläche", "m²")),
        ("顧客ID", ("顧客", "ID")),
        ("データベース_売上2024", ("データベース", "売上", "2024")),
        ("हिन्दी_नाम", ("हिन्दी", "नाम")),
        ("IDs_of_HTTPStatus", ("IDs", "of", "HTTP", "Status")),
        ("___", ()),
    ],
)
def test_a_name_is_cut_between_its_words_in_any_script(name: str, words: tuple[str, ...]) -> None:
    assert words_in(name) == words
    apart = unicodedata.normalize("NFD", name)  # as some file systems write names of files
    assert words_in(apart) == tuple(unicodedata.normalize("NFD", word) for word in words)


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(identifiers).failed == 0
