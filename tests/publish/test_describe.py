"""Summary, card, plots, layout and certificate: what they say is what the frames hold."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import publish_samples as samples
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from agro_data.publish import plots
from agro_data.publish.card import COLUMNS, render_card
from agro_data.publish.explain import explain
from agro_data.publish.layout import flatten, sample_indices, word_map
from agro_data.publish.markdown import literal
from agro_data.publish.read import NoVersion, Version, open_version
from agro_data.publish.summary import schema_coverage, summarise
from agro_data.publish.version import MUTANTS, Beside, Instances, write_version
from agro_data.records import EXAMPLE


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Version:
    path = write_version(
        tmp_path_factory.mktemp("out"),
        "shop",
        fingerprint="c" * 64,
        examples=samples.examples(60),
        rejected=samples.rejected(12),
        manifest=samples.manifest(),
    )
    return open_version(path)


# --- summary ---


@settings(max_examples=15, deadline=None)
@given(count=st.integers(0, 60), dropped=st.integers(0, 20))
def test_counts_add_up(count: int, dropped: int) -> None:
    frame = samples.examples(count)
    counts = summarise(frame, samples.rejected(dropped))
    assert counts["examples"] == count
    for part in ("splits", "hardness", "complexity", "styles", "dialects", "generators", "by_database"):
        assert sum(counts[part].values()) == count
    assert sum(counts["constructs"].values()) == frame["constructs"].list.len().sum()
    assert sum(counts["rejected_reasons"].values()) == counts["rejected"] == dropped
    assert list(counts["splits"]) == ["train", "validation", "test"]


def test_common_labels_come_first_and_equals_by_name() -> None:
    counts = summarise(samples.examples(60), samples.rejected(0))
    pairs = list(counts["constructs"].items())
    assert pairs == sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


def test_coverage_names_databases_without_examples_and_unknown_totals() -> None:
    databases = [{"db_id": "db_0", "tables": 4, "columns": 9}, {"db_id": "quiet", "tables": 3, "columns": 3}]
    found = schema_coverage(samples.examples(10, splits=("train",)), databases)
    assert found["db_id"].to_list() == ["db_0", "db_1", "db_2", "db_3", "db_4", "quiet"]
    first, last = found.row(0, named=True), found.row(5, named=True)
    assert (first["examples"], first["tables"], first["tables_total"], first["columns"]) == (2, 1, 4, 2)
    assert (last["examples"], last["tables"], last["tables_total"]) == (0, 0, 3)
    assert found.row(1, named=True)["tables_total"] is None


# --- card ---


def test_the_card_tells_the_counts_and_every_column(version: Version) -> None:
    card = (version.path / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(card.split("---\n")[1])
    assert [file["split"] for file in head["configs"][0]["data_files"]] == ["train", "validation", "test"]
    assert head["size_categories"] == ["n<1K"]
    assert "license" not in head
    for name in EXAMPLE:
        assert f"| `{name}` |" in card
    assert list(COLUMNS) == list(EXAMPLE)
    assert "60 questions with gold SQL on 5 databases" in card
    assert all(name in card for name in ("`rejected/`", "`index.parquet`", "`mutants.parquet`"))
    assert "| verified | 150 | 75.0 % |" in card
    assert "0 of 60 examples were confirmed by an independent solver" in card
    assert not re.search(r"{{|{%|\n\n\n", card)


def test_licence_name_and_description_are_shown_when_given() -> None:
    counts = summarise(samples.examples(9, splits=("train",)), samples.rejected(0))
    more = {"license": "cc-by-4.0", "pretty_name": 'A "shop": one', "description": "Shops."}
    card = render_card(samples.manifest(**more, counts=counts, version="v", corpus="c", parent="p", fingerprint="f"))
    head = yaml.safe_load(card.split("---\n")[1])
    assert (head["license"], head["pretty_name"]) == ("cc-by-4.0", 'A "shop": one')
    assert [file["split"] for file in head["configs"][0]["data_files"]] == ["train"]
    assert "Shops." in card
    assert "which follows `p`" in card


# --- layout and plots ---


def test_the_word_map_puts_like_beside_like() -> None:
    texts = ["how many nurses work in the ward"] * 5 + ["list planes by age of airline"] * 5
    points = word_map(texts)
    assert np.allclose(points[:5], points[0], atol=1e-5)
    assert abs(points[0, 0] - points[-1, 0]) > 1


@settings(max_examples=25, deadline=None)
@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 12), st.integers(1, 6)), elements=st.floats(-9, 9, width=32)))
def test_flatten_stays_in_its_frame(vectors: np.ndarray) -> None:
    points = flatten(vectors)
    assert points.shape == (len(vectors), 2)
    assert np.isfinite(points).all()
    assert (np.abs(points) <= 1 + 1e-6).all()


@given(st.integers(0, 200), st.integers(0, 100))
def test_a_sample_is_distinct_sorted_and_repeatable(count: int, limit: int) -> None:
    chosen = sample_indices(count, limit)
    assert chosen == sorted(set(chosen)) == sample_indices(count, limit)
    assert len(chosen) == min(count, limit)


def drawn() -> dict[str, bytes]:
    points = np.random.default_rng(3).normal(size=(5_000, 2)).astype(np.float32)
    labels = [f"database_with_a_long_name_{int(9 * abs(x))}" for x in points[:, 0]]
    return {
        "funnel": plots.funnel([("candidates", 52_000), ("verified", 40_000), ("selected", 20_000)]),
        "hardness": plots.hardness({"easy": 4, "medium": 8, "hard": 0, "extra": 3}),
        "constructs": plots.construct_coverage({f"construct_{i}": i for i in range(60)}),
        "map": plots.diversity_map(points, labels),
        "empty funnel": plots.funnel([]),
        "empty constructs": plots.construct_coverage({}),
        "empty map": plots.diversity_map(points[:0], []),
    }


def test_plots_are_small_images_and_the_same_each_time() -> None:
    first, second = drawn(), drawn()
    assert first == second
    for name, png in first.items():
        image = Image.open(io.BytesIO(png))
        assert image.width >= 400, name
        markdown = plots.as_markdown_image(png, name)
        assert len(markdown) < 60_000
        assert base64.b64decode(markdown.split("base64,")[1].rstrip(")")) == png
    with_data = np.asarray(Image.open(io.BytesIO(first["map"])).convert("RGB"))
    blank = np.asarray(Image.open(io.BytesIO(first["empty map"])).convert("RGB"))
    assert (with_data != 255).any(axis=2).sum() > 5 * (blank != 255).any(axis=2).sum()


def test_plots_refuse_what_they_cannot_show() -> None:
    with pytest.raises(ValueError, match="2 points but 1 labels"):
        plots.diversity_map(np.zeros((2, 2), dtype=np.float32), ["one"])
    with pytest.raises(ValueError, match="metadata allows 60,000"):
        plots.as_markdown_image(b"x" * 50_000)


def test_a_manifest_gives_three_plots(version: Version) -> None:
    assert list(plots.of_version(version)) == ["funnel", "hardness", "construct_coverage"]


def test_importing_the_package_loads_nothing_heavy() -> None:
    wanted = "agro_data.publish.report, agro_data.publish.explain, agro_data.publish.version"
    code = f"import sys, {wanted}; print(*sys.modules)"
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.split())
    assert not loaded & {"torch", "vllm", "trl", "sentence_transformers", "matplotlib", "datasets"}


# --- certificate ---


def test_the_certificate_says_what_was_checked(version: Version) -> None:
    row = version.examples().filter(pl.col("hardness") == "extra").collect().row(0, named=True)
    text = explain(version, row["example_id"])
    flat = " ".join(text.split())
    for said in (
        row["question"],
        row["sql"],
        row["result_digest"],
        "c" * 64,
        f"seed {row['seed']}",
        "build 7",
    ):
        assert said in flat
    assert f"by SQLite {version.manifest['library_versions']['sqlite']}" in flat
    assert "The order it asks for has no ties" in flat
    assert "No mutant of this SQL has been tried" in flat
    assert "a claim, not a proof" in flat
    assert "1. rows: the " in flat
    assert "(from rows)" in flat
    assert explain(version, row["example_id"][:10]) == text


def test_a_mutant_record_and_a_verified_alignment_are_told(tmp_path: Path) -> None:
    frame = samples.examples(1).with_columns(
        mutants_total=pl.lit(9, pl.Int64),
        mutants_killed=pl.lit(7, pl.Int64),
        mutants_equivalent=pl.lit(1, pl.Int64),
        mutants_undecided=pl.lit(1, pl.Int64),
        alignment_method=pl.lit("verified"),
        alignment_score=pl.lit(0.75),
        evidence=pl.lit("a singer is a person"),
    )
    path = write_version(
        tmp_path,
        "one",
        fingerprint="d" * 64,
        examples=frame,
        rejected=samples.rejected(0),
        manifest=samples.manifest(),
        beside=Beside(Instances(mutants=_fates(frame["example_id"][0]))),
    )
    flat = " ".join(explain(open_version(path), frame["example_id"][0]).split())
    assert "Killed, for instance: age > 56 -> age >= 56, by shop/00-01.sqlite: row 1: expected (2), got (3)." in flat
    assert "Proved equivalent by: key (1)." in flat
    assert "Survives: LIMIT 1 -> LIMIT 2." in flat
    assert "9 mutants tried: 7 told apart by some instance, 1 proved to mean the same, 1 undecided" in flat
    assert "Method: verified, score 0.75." in flat
    assert "Evidence: a singer is a person" in flat


def _fates(example_id: str) -> pl.DataFrame:
    killed = ["comparison", "age > 56 -> age >= 56", "killed", "shop/00-01.sqlite", "SELECT 1"]
    rows = [
        [example_id, *killed, "row 1: expected (2), got (3)"],
        [example_id, "distinct", "DISTINCT -> added", "equivalent", "key", None, None],
        [example_id, "limit", "LIMIT 1 -> LIMIT 2", "undecided", "", "SELECT 2", None],
    ]
    return pl.DataFrame(rows, MUTANTS, orient="row")


def test_an_unknown_example_is_named(version: Version) -> None:
    with pytest.raises(NoVersion, match="no example 0000000000000000"):
        explain(version, "0" * 16)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("shop_2.sqlite: no table", "shop_2.sqlite: no table"),
        ("a<b>.sqlite", "a\\<b>.sqlite"),
        ("*new*\n- [x](y) & `z`", "\\*new\\* - \\[x](y) \\& \\`z\\`"),
    ],
)
def test_what_is_listed_stands_as_it_is(text: str, shown: str) -> None:
    assert literal(text) == shown
