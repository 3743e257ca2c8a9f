"""Which database is meant by a name that is no id."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from making import run_sqlite

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.discovery.identity import meant
from agro_data.evaluation.evaluate import evaluate
from agro_data.evaluation.loaded import Prediction
from agro_data.evaluation.sources import named_databases
from agro_data.pairs.verify import verify_pairs


def write(place: Path, *files: str) -> Path:
    for file in files:
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        run_sqlite(place / file, "CREATE TABLE item (name TEXT); INSERT INTO item VALUES ('tea'), ('ink')")
    return place


@pytest.mark.parametrize(
    ("files", "name", "file"),
    [
        (["my shop.sqlite", "zoo.sqlite"], "my shop", "my shop.sqlite"),
        (["my shop.sqlite"], "My Shop", "my shop.sqlite"),
        (["my shop.sqlite"], "MY_SHOP", "my shop.sqlite"),
        (["größe.sqlite"], "größe", "größe.sqlite"),
        (["größe.sqlite"], unicodedata.normalize("NFD", "Größe"), "größe.sqlite"),
        (["日本.sqlite", "東京.sqlite"], "東京", "東京.sqlite"),
        (["my shop.sqlite", "my_shop.sqlite"], "my shop", "my shop.sqlite"),
        (["my_shop.sqlite"], "my shop", "my_shop.sqlite"),
        (["my shop/my shop.sqlite"], "my shop", "my shop/my shop.sqlite"),
        (["shop.sqlite", "zoo.sqlite"], "Shop.sqlite", "shop.sqlite"),
        (["a/shop.sqlite", "b/shop.sqlite"], "data/b/shop.sqlite", "b/shop.sqlite"),
        (["a/shop.sqlite", "b/shop.sqlite"], r"b\shop.sqlite", "b/shop.sqlite"),
        (["a/shop.sqlite", "b/shop.sqlite"], "shop.sqlite", None),
        (["日本.sqlite"], "東京", None),  # both give `_`
        (["a/my shop.sqlite", "b/my shop.sqlite"], "my shop", None),
        (["a/shop.sqlite", "b/shop.sqlite"], "shop", None),
    ],
)
def test_names(tmp_path: Path, files: list[str], name: str, file: str | None) -> None:
    found = meant(find_databases(write(tmp_path, *files)).databases, [name, "elsewhere"])
    assert {name: one.relative_path for name, one in found.items()} == ({name: file} if file else {})


def test_two_names_that_give_one_id_mean_nothing(tmp_path: Path) -> None:
    databases = find_databases(write(tmp_path, "my_shop.sqlite")).databases
    assert not meant(databases, ["my shop", "my+shop"])
    assert list(meant(databases, ["my shop", "My Shop"])) == ["My Shop", "my shop"]


def test_a_folder_of_tables_is_called_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "my shop (1)").mkdir()
    (tmp_path / "my shop (1)" / "item.csv").write_text("name\ntea\n")
    assert list(meant(find_databases(tmp_path).databases, ["my shop (1)"])) == ["my shop (1)"]


@pytest.mark.parametrize(
    "files", [["my shop.sqlite", "größe.sqlite"], ["my shop/my shop.sqlite", "größe/größe.sqlite"]]
)
def test_predictions_and_pairs_are_held_against_it(tmp_path: Path, files: list[str]) -> None:
    place, sql = write(tmp_path / "db", *files), "SELECT name FROM item"
    names = ["my shop", "größe", "my_shop"]
    assert list(named_databases(place, set(names))[0]) == sorted(names)
    rows = [Prediction(f"row {n}", name, "Which?", sql, (sql,)) for n, name in enumerate(names)]
    assert [verdict.score for verdict in evaluate(rows, place, workers=1).verdicts] == [1, 1, 1]
    pairs = tmp_path / "pairs.json"
    pairs.write_text(json.dumps([{"db_id": name, "question": "Which items?", "query": sql} for name in names]))
    found = verify_pairs(pairs, place, cache=tmp_path / "cache", workers=1)
    assert [[one.kind for one in pair.findings] for pair in found.checked] == [[], [], []]
    assert not found.problems
