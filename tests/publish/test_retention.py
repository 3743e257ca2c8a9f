"""Which versions go, which stay and why, and that one goes whole."""

from __future__ import annotations

import json
from pathlib import Path

import publish_samples as samples
import pytest

from agro_data.locking import Locked, exclusive
from agro_data.publish import retention
from agro_data.publish.read import NoVersion, list_versions, open_version
from agro_data.publish.retention import fates, prune, published, record_published, sweep
from agro_data.publish.version import write_version


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for digit in "abcde":
        write_version(
            tmp_path,
            "shop",
            fingerprint=digit * 64,
            examples=samples.examples(12),
            rejected=samples.rejected(2),
            manifest=samples.manifest(),
        )
    return tmp_path


def names(root: Path) -> list[str]:
    return [path.name[-8:][0] for path in list_versions(root, "shop")]


def test_the_newest_stay_and_the_rest_goes(root: Path) -> None:
    decided = fates(root, "shop", 2)
    assert [fate.keeps for fate in decided] == ["", "", "", "among the newest", "latest"]
    assert all(fate.size > 1000 for fate in decided)
    assert names(root) == list("abcde")  # nothing has been deleted by asking
    assert prune(root, "shop", 2) == decided
    assert names(root) == list("de")
    assert not list((root / "shop").glob(".pruned-*"))
    assert not open_version(root / "shop").verify_hashes()


def test_what_is_published_stays_however_old(root: Path) -> None:
    oldest, second, *_ = list_versions(root, "shop")
    record_published(second)
    record_published(oldest)
    record_published(second)
    assert published(root, "shop") == [second.name, oldest.name]
    prune(root, "shop", 1)
    assert names(root) == list("abe")


@pytest.mark.parametrize("said", [".", "../{name}", "../../shop/{name}/"])
def test_what_is_published_is_written_beside_the_version_however_it_is_said(
    said: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = list_versions(root, "shop")[0]
    monkeypatch.chdir(oldest)
    record_published(Path(said.format(name=oldest.name)))
    assert published(root, "shop") == [oldest.name]
    assert not open_version(oldest).verify_hashes()


def test_what_latest_names_stays_even_where_it_is_not_the_newest(root: Path) -> None:
    (root / "shop" / "latest").write_text(list_versions(root, "shop")[1].name + "\n")
    prune(root, "shop", 1)
    assert names(root) == list("be")


def test_what_trajectories_were_made_from_stays(root: Path) -> None:
    source = list_versions(root, "shop")[2]
    made = root / "shop-trajectories" / "v0001-00000000"
    made.mkdir(parents=True)
    (made / "manifest.json").write_text(json.dumps({"of_corpus": {"name": "shop", "version": source.name}}))
    decided = fates(root, "shop", 1)
    assert decided[2].keeps == "shop-trajectories/v0001-00000000 was made from it"
    prune(root, "shop", 1)
    assert names(root) == list("ce")


def test_trajectories_go_before_the_corpus_that_they_hold(root: Path) -> None:
    """A dry run says what the pruning then does."""
    sources = list_versions(root, "shop")
    for number, source in enumerate(sources[:3], 1):
        made = root / "shop-trajectories" / f"v{number:04}-00000000"
        made.mkdir(parents=True)
        (made / "manifest.json").write_text(json.dumps({"of_corpus": {"name": "shop", "version": source.name}}))
    (root / "shop-trajectories" / "latest").write_text("v0003-00000000\n")
    told = sweep(root, 1, dry_run=True)
    assert [(name, bool(fate.keeps)) for name, fate in told] == [
        *(("shop-trajectories", stays) for stays in (False, False, True)),
        *(("shop", stays) for stays in (False, False, True, False, True)),
    ]
    assert names(root) == list("abcde")
    assert sweep(root, 1, "shop") == told
    assert names(root) == list("ce")
    assert [path.name[:5] for path in list_versions(root, "shop-trajectories")] == ["v0003"]


def test_what_is_named_is_pruned_with_what_was_made_from_it_alone(root: Path) -> None:
    for name in ("bank", "shop"):
        made = root / f"{name}-trajectories" / "v0001-00000000"
        made.mkdir(parents=True)
        (made / "manifest.json").write_text(json.dumps({"of_corpus": {"name": name, "version": "v0009-00000000"}}))
    assert {name for name, _ in sweep(root, 9, "shop", dry_run=True)} == {"shop", "shop-trajectories"}
    assert {name for name, _ in sweep(root, 9, "shop-trajectories")} == {"shop-trajectories"}
    with pytest.raises(NoVersion, match="shpo"):
        sweep(root, 9, "shpo")
    assert sweep(root / "absent", 9) == []


def test_a_pruning_that_was_killed_leaves_no_half_version_and_the_next_one_ends_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(retention.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            prune(root, "shop", 3)
    assert names(root) == list("cde")
    assert len(list((root / "shop").glob(".pruned-*"))) == 2
    prune(root, "shop", 3)
    assert not list((root / "shop").glob(".pruned-*"))
    assert names(root) == list("cde")


def test_a_version_that_was_pruned_can_be_built_again_under_a_new_number(root: Path) -> None:
    prune(root, "shop", 1)
    again = write_version(
        root,
        "shop",
        fingerprint="a" * 64,
        examples=samples.examples(12),
        rejected=samples.rejected(2),
        manifest=samples.manifest(),
    )
    assert again.name == "v0006-aaaaaaaa"


def test_another_writer_is_waited_for(root: Path) -> None:
    with exclusive(root / "shop" / ".lock", wait_seconds=1, doing="is here"), pytest.raises(Locked):
        prune(root, "shop", 1, wait_seconds=0.2)
    assert names(root) == list("abcde")


def test_at_least_one_is_kept(root: Path) -> None:
    with pytest.raises(ValueError, match="at least"):
        fates(root, "shop", 0)
