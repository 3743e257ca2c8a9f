"""Which names need quotes: the engine is asked."""

from __future__ import annotations

import duckdb

from agro_data.sql.identifiers import spelled


def test_duckdb_reads_each_of_its_words_as_a_name_as_it_is_spelled() -> None:
    with duckdb.connect() as connection:
        words = [word for (word,) in connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()]
        assert len(words) > 400
        for word in words:
            name = spelled(word)
            asked = f"SELECT {name}, COUNT(*) AS {name} FROM {name} AS a WHERE a.{name} > 1 GROUP BY {name}"
            connection.execute(f'WITH "{word}" AS (SELECT 1 AS "{word}") {asked}')
