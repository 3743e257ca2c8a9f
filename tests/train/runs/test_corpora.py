"""Training finds the newest corpus; what was made from one is none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import dagster as dg
import pytest

from agro_data.defs.place import Place
from agro_data.publish.read import NoVersion, list_corpora
from agro_train.defs.training import Training
from agro_train.runs.corpora import find_corpus, find_databases_of


def make_version(root: Path, corpus: str, number: int, **manifest: object) -> Path:
    path = root / corpus / f"v{number:04d}-0123abcd"
    path.mkdir(parents=True)
    facts = {"corpus": corpus, "version": path.name, "fingerprint": "0123abcd", "databases": []}
    facts |= {"config": {"databases": str(root)}, **manifest}
    (path / "manifest.json").write_text(json.dumps(facts))
    return path


def test_the_newest_corpus_is_found_and_trajectories_are_none(tmp_path: Path) -> None:
    old, shop, demo = (make_version(tmp_path, *of) for of in (("demo", 1), ("shop", 1), ("demo", 2)))
    made = make_version(tmp_path, "demo-trajectories", 1, of_corpus={"name": "demo", "version": old.name})
    for age, path in enumerate((made, demo, shop, old)):
        os.utime(path, (1e9 - age, 1e9 - age))
    assert list_corpora(tmp_path) == ["demo", "shop"]
    assert find_corpus(tmp_path).path == demo
    assert find_corpus(tmp_path, "shop").path == shop
    assert find_corpus(tmp_path, "demo/v0001-0123abcd").path == old
    assert find_corpus(tmp_path, str(old)).path == old
    for named in ("demo-trajectories", str(made)):
        with pytest.raises(NoVersion, match="made from a corpus and holds no examples; give that one, demo v0001"):
            find_corpus(tmp_path, named)


def test_without_a_corpus_it_says_what_to_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "not-there"):
        with pytest.raises(NoVersion, match="run `make corpus`"):
            find_corpus(folder)


def test_a_name_that_is_no_corpus_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(NoVersion, match=f"^shpo: not a corpus version .*; there is none below {tmp_path}$"):
        find_corpus(tmp_path, "shpo")
    for corpus in ("shop", "demo"):
        make_version(tmp_path, corpus, 1)
    make_version(tmp_path, "demo", 3)
    for named, there in (
        ("shpo", f"below {tmp_path} there are demo, shop"),
        ("demo/v0002-0123abcd", "of demo there is v0001-0123abcd, v0003-0123abcd"),
    ):
        with pytest.raises(NoVersion, match=f"^{named}: not a corpus version .*; {there}$"):
            find_corpus(tmp_path, named)


def test_a_corpus_that_was_not_copied_whole_is_told_in_words(tmp_path: Path) -> None:
    (make_version(tmp_path, "demo", 1) / "manifest.json").unlink()
    with (
        dg.instance_for_test() as instance,
        dg.build_asset_context(instance=instance) as context,
        pytest.raises(dg.Failure, match=r"v0001-0123abcd/manifest\.json: cannot be read as a manifest"),
    ):
        Training().corpus_in(context, Place(datasets=str(tmp_path)))


def test_databases_are_where_the_corpus_was_built_or_where_one_says(tmp_path: Path) -> None:
    version = find_corpus(make_version(tmp_path, "demo", 1).parents[1])
    assert find_databases_of(version) == tmp_path
    (tmp_path / "copy").mkdir()
    assert find_databases_of(version, str(tmp_path / "copy")) == tmp_path / "copy"
    with pytest.raises(NoVersion, match="gone: the databases of demo v0001-0123abcd are not there; say where"):
        find_databases_of(version, str(tmp_path / "gone"))


def test_what_was_made_of_a_corpus_goes_on_with_no_other(tmp_path: Path) -> None:
    made = make_version(tmp_path, "demo", 1, fingerprint="0123abcd")
    facts = {"name": "demo", "version": made.name, "fingerprint": "0123abcd"}
    place, training = Place(datasets=str(tmp_path)), Training()
    assert training.corpus_of(facts, place).path == made
    moved = made.rename(make_version(tmp_path, "shop", 1, fingerprint="4567abcd").parent / made.name.replace("1", "2"))
    assert Training(corpus=str(moved)).corpus_of(facts, place).path == moved
    with pytest.raises(dg.Failure, match="demo v0001-0123abcd is not below"):
        Training(corpus="shop/v0001-0123abcd").corpus_of(facts, place)


def test_no_processes_are_refused() -> None:
    Training().check()
    with pytest.raises(dg.Failure, match="processes is 0: expected at least 1"):
        Training(processes=0).check()


def test_what_training_cannot_start_from_or_end_in_is_told_before_trajectories_are_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for wrong, said in (
        ({"model": str(tmp_path / "gone")}, r"training: model '.*gone': no such folder"),
        ({"models": str(tmp_path / "file")}, r"training: models is .*file: cannot be written \(Not a directory\)"),
    ):
        with pytest.raises(dg.Failure, match=said):
            Training(**{"models": str(tmp_path / "new"), **wrong}).check_start()
    Training(models=str(tmp_path / "new")).check_start()
    assert not (tmp_path / "new").exists()


def test_training_learns_from_what_dagster_shows_before_it(tmp_path: Path) -> None:
    """Its checks are those that `train_after_corpus` waits for; it may be a version that was there already. What was
    written since, by `agro build`, is newer.
    """
    built, newer, other = (make_version(tmp_path, *of) for of in (("demo", 1), ("demo", 2), ("shop", 1)))
    for age, path in enumerate((other, newer, built)):
        os.utime(path, (1e9 - age, 1e9 - age))
    place, training = Place(datasets=str(tmp_path)), Training()
    with dg.instance_for_test() as instance, dg.build_asset_context(instance=instance) as context:
        assert training.corpus_in(context, place).path == other
        made = dg.AssetMaterialization("corpus", metadata={"dagster/uri": str(built)})
        instance.report_runless_asset_event(made)
        assert training.corpus_in(context, place).path == built
        assert Training(corpus="demo").corpus_in(context, place).path == newer
        os.utime(other, (4e9, 4e9))
        assert training.corpus_in(context, place).path == other
        os.utime(other, (1e9, 1e9))
        built.rename(built.with_name("gone"))
        assert training.corpus_in(context, place).path == other
