from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from agro_data import models
from agro_data.config import DEFAULT_MODEL
from agro_data.diversity.coverage import cover, coverage_radius
from agro_data.diversity.embeddings import Embeddings, Encoder, embed, embedding_installed, load_encoder, quantise
from agro_data.diversity.neighbours import drop_near_duplicates
from agro_data.diversity.projection import project_2d
from agro_data.diversity.structure import structural_vectors
from agro_data.models import ModelMissing, find_model

Make = Callable[..., pl.DataFrame]
needs_model = pytest.mark.skipif(not embedding_installed(), reason="the extra 'embed' is not installed")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(threads=1, network=False)


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_structural_vectors_are_unit_and_alike_for_alike_sql(questions: Make) -> None:
    frame = questions(200, 1)
    vectors = structural_vectors(frame)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    same = frame["skeleton"].to_list().index
    twins = [(row, same(name)) for row, name in enumerate(frame["skeleton"]) if same(name) != row]
    assert twins
    assert all(vectors[a] @ vectors[b] > 0.9 for a, b in twins)
    assert float(vectors[0] @ vectors[1]) < 0.95


def test_structural_vectors_are_the_same_in_another_process(questions: Make, tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    questions(50, 2).write_parquet(path)
    program = (
        "import sys, hashlib, polars as pl; from agro_data.diversity.embeddings import embed;"
        "print(hashlib.sha256(embed(pl.read_parquet(sys.argv[1]), None).joined().tobytes()).hexdigest());"
        "assert not {'torch', 'sentence_transformers'} & set(sys.modules)"
    )
    outputs = [
        subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert outputs[0] == outputs[1]


@pytest.mark.ci
@needs_model
def test_question_vectors_do_not_depend_on_the_order_of_rows(questions: Make, encoder: Encoder) -> None:
    frame = questions(150, 2)
    vectors = embed(frame, encoder)
    backwards = embed(frame.reverse(), encoder)
    assert (vectors.joined() == backwards.joined()[::-1]).all()
    assert vectors.question is not None
    assert vectors.joined().shape == (150, 384 + 256)
    with pytest.raises(ValueError, match="between 0 and 1"):
        embed(frame, encoder, weight=2.0)


@needs_model
def test_encoding_leaves_the_threads_of_the_process_as_they_are() -> None:
    """Training goes on in the process in which trajectories were embedded."""
    import torch

    own = torch.get_num_threads()
    load_encoder(threads=1, network=False).encode(["How many singers are there?"])
    assert torch.get_num_threads() == own


@needs_model
def test_meaning_decides_and_near_duplicates_go_by_plausibility(questions: Make, encoder: Encoder) -> None:
    frame = questions(4, 1).with_columns(
        question=pl.Series(
            [
                "How many singers are older than 56?",
                "How many singers are older than 57?",
                "How many singers are older than 56 ?",
                "List the name of every stadium.",
            ]
        ),
        skeleton=pl.Series(["a", "a", "a", "b"]),
        plausibility=pl.Series([0.1, 0.5, 0.9, 0.5]),
    )
    kept, rejected = drop_near_duplicates(frame, embed(frame, encoder))
    assert kept["candidate_id"].to_list() == frame["candidate_id"].to_list()[2:]
    assert "asks almost the same as candidate 0000000000000002" in rejected["detail"][0]
    elsewhere = frame.with_columns(db_id=pl.Series(["a", "b", "c", "d"]))
    assert drop_near_duplicates(elsewhere, embed(elsewhere, encoder)).rejected.is_empty()
    unlike = frame.with_columns(skeleton=pl.Series(["a", "b", "c", "d"]))
    assert drop_near_duplicates(unlike, embed(unlike, None)).rejected.is_empty()


def test_the_inverted_file_finds_what_the_full_comparison_finds(questions: Make) -> None:
    frame = questions(3_000, 1).with_columns(skeleton=pl.lit("same"))
    generator = np.random.default_rng(0)
    apart = generator.normal(size=(2_000, 64))
    near = apart[:1_000] + 0.05 * generator.normal(size=(1_000, 64))
    vectors = Embeddings(embed(frame, None).structure, quantise(unit(np.concatenate([apart, near]))))
    full = drop_near_duplicates(frame, vectors)
    inverted = drop_near_duplicates(frame, vectors, exact_rows=500)
    assert full.rejected.height == 1_000
    assert inverted.rejected.height >= 990
    assert set(inverted.rejected["candidate_id"]) <= set(full.rejected["candidate_id"])


@needs_model
def test_the_model_is_found_by_path_and_in_its_package_and_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(models, "_in_hub_cache", lambda name: None)
    found = find_model(DEFAULT_MODEL, network=False)
    assert found.found == "package"
    assert find_model(str(found.path)).found == "path"
    wrong = replace(models.PACKAGED[DEFAULT_MODEL], sha256="0" * 64)
    monkeypatch.setitem(models.PACKAGED, DEFAULT_MODEL, wrong)
    with pytest.raises(ModelMissing, match="SHA-256 53aa51172d142c89"):
        find_model(DEFAULT_MODEL, network=False)
    with pytest.raises(ModelMissing, match="hf download someone/nothing"):
        find_model("someone/nothing", network=False)
    with pytest.raises(ModelMissing, match="missing': no such folder"):
        find_model(str(tmp_path / "missing"), network=False)
    with pytest.raises(ModelMissing, match=r"no config\.json in it"):
        find_model(str(tmp_path), network=False)
    with pytest.raises(ModelMissing, match=f"neither a folder .* like '{DEFAULT_MODEL}'"):
        find_model("nothing", network=False)
    for address in ("localhost:8000/v1", "127.0.0.1:8000/v1#m", "gpu-1.example:80"):
        with pytest.raises(ModelMissing, match=f"did you mean http://{address}"):
            find_model(address, network=False)


def test_cover_holds_everything_with_few_rows() -> None:
    elements = [{"a"}, {"a", "b"}, {"c"}, {"b", "c", "d"}, {"d"}]
    assert cover(elements, [0.0] * 5, 10) == [3, 0]
    assert cover(elements, [0, 1.0, 0, 0, 0], 10) == [3, 1]
    assert cover(elements, [0.0] * 5, 1) == [3]
    assert cover([], [], 3) == []


def test_radius_is_the_distance_to_the_nearest_selected() -> None:
    vectors = quantise(np.eye(4, dtype=np.float32))
    assert coverage_radius(vectors, vectors).largest == 0.0
    assert coverage_radius(vectors, vectors[:3]).largest == 1.0
    assert coverage_radius(vectors, vectors[:3]).mean == 0.25


def test_projection_keeps_the_widest_directions_with_a_fixed_sign() -> None:
    generator = np.random.default_rng(1)
    flat = np.zeros((50, 8))
    flat[:, 2], flat[:, 5] = 10 * generator.normal(size=50), 3 * generator.normal(size=50)
    plane = project_2d(flat)
    assert np.allclose(plane[:, 0], flat[:, 2] - flat[:, 2].mean(), atol=0.5)
    assert np.allclose(np.abs(plane).std(axis=0) > 1, True)
    assert (project_2d(np.zeros((1, 3))) == 0).all()
    with pytest.raises(ValueError, match="two dimensions"):
        project_2d(np.zeros(3))
