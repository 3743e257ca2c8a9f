"""Children are not counted where their parent keeps a number of them that a question could mean."""

from __future__ import annotations

import sqlite3
from itertools import islice
from random import Random

import pytest

from agro_data.databases.types import Database
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.sampling.kept_counts import counts_what_is_kept
from agro_data.intent.sampling.sample import sample_intents
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.profiler import profile_database
from agro_data.synthesis.read_back.reading import Unread, read_intent

_SCRIPT = """
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT, taggings_count INTEGER);
CREATE TABLE taggings (id INTEGER PRIMARY KEY, tag_id INTEGER REFERENCES tags(id), context TEXT);
CREATE TABLE remarks (id INTEGER PRIMARY KEY, tag_id INTEGER REFERENCES tags(id), length INTEGER);
"""


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> DatabaseProfile:
    path = tmp_path_factory.mktemp("tags") / "tags.sqlite"
    rng = Random(1)
    with sqlite3.connect(path) as connection:
        connection.executescript(_SCRIPT)
        connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", [(n, f"Tag {n}", n * 7 % 31) for n in range(20)])
        kinds = [(n, rng.randrange(20), rng.choice(("skill", "tag", "topic"))) for n in range(200)]
        connection.executemany("INSERT INTO taggings VALUES (?, ?, ?)", kinds)
        remarks = [(n, rng.randrange(20), rng.randrange(900)) for n in range(200)]
        connection.executemany("INSERT INTO remarks VALUES (?, ?, ?)", remarks)
    connection.close()
    return profile_database(Database("tags", "sqlite", "sqlite", path, "0" * 64, path.name))


def test_what_a_parent_keeps_is_not_counted(tags: DatabaseProfile) -> None:
    found = list(islice(sample_intents(tags, 3), 400))
    sql = [render_sql(intent, tags) for intent in found]
    assert any("taggings_count" in text for text in sql)
    assert any("remarks" in text and "tags" in text and "COUNT(*)" in text for text in sql)
    assert not any(counts_what_is_kept(intent.query, tags) for intent in found)


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("SELECT t.name, COUNT(*) FROM {0} AS c JOIN tags AS t ON c.tag_id = t.id GROUP BY t.id, t.name", True),
        ("SELECT COUNT(*) FROM {0} AS c JOIN tags AS t ON c.tag_id = t.id WHERE t.name = 'Tag 3'", True),
        (
            "SELECT t.name FROM {0} AS c JOIN tags AS t ON c.tag_id = t.id GROUP BY t.id, t.name HAVING COUNT(*) > 3",
            True,
        ),
        ("SELECT COUNT(*) FROM {0} AS c JOIN tags AS t ON c.tag_id = t.id WHERE t.name LIKE 'T%'", True),
        ("SELECT COUNT(*) FROM {0} AS c JOIN tags AS t ON c.tag_id = t.id WHERE t.name = 'Tag 3' AND c.id > 7", False),
        ("SELECT COUNT(*) FROM {0}", False),
    ],
)
def test_all_children_of_parents_are_what_these_keep(sql: str, kept: bool, tags: DatabaseProfile) -> None:
    for table, said in (("taggings", kept), ("remarks", False)):
        intent = read_intent(sql.format(table), Atlas(tags))
        assert not isinstance(intent, Unread), intent
        assert counts_what_is_kept(intent.query, tags) == said
