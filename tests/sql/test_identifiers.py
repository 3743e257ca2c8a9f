"""Which names need quotes: the engine is asked. And the words of names, in any script."""

from __future__ import annotations

import doctest
import unicodedata

import duckdb
import pytest

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
