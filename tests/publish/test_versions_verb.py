"""`agro versions` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import publish_samples as samples
import pytest
from click.testing import CliRunner, Result

from agro_data.cli import data
from agro_data.doctor import newest_corpus
from agro_data.publish.read import NoVersion, list_versions
from agro_data.publish.retention import record_published
from agro_data.publish.version import write_version
from agro_data.verbs.publish import source_licenses
from agro_data.verbs.versions import versions_command


@pytest.fixture
def out(tmp_path: Path) -> Path:
    for digit, count in (("a", 12), ("b", 16), ("c", 20)):
        write_version(
            tmp_path,
            "shop",
            fingerprint=digit * 64,
            examples=samples.examples(count),
            rejected=samples.rejected(2),
            manifest=samples.manifest(),
        )
    return tmp_path


def agro_versions(*arguments: object) -> Result:
    return CliRunner().invoke(versions_command, [str(one) for one in arguments])


def test_list_need_not_be_said(out: Path) -> None:
    said = json.loads(agro_versions("list", out, "--json").output)
    assert said == json.loads(agro_versions(out, "--json").output)
    assert [(row["examples"], row["latest"]) for row in said] == [(12, ""), (16, ""), (20, "yes")]
    for own in (out / "shop", list_versions(out, "shop")[0]):  # as other verbs take it
        assert json.loads(agro_versions(own, "--json").output) == said
    shown = agro_versions(out, "--show", "latest")
    assert shown.exit_code == 0
    assert "SELECT" in shown.output
    assert "prune" in agro_versions("--help").output


def test_diff_tells_counts_and_rows(out: Path) -> None:
    first, second, _ = list_versions(out, "shop")
    rows = out / "rows.jsonl"
    done = agro_versions("diff", first, second, "--json", "--output", rows)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["rows"]["added"] == 4
    assert sum(told["rows"][kind] for kind in ("same", "changed")) == 12
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    added = [line for line in lines if line["kind"] == "added"]
    assert len(added) == 4
    assert all(line["question_after"] and line["question_before"] is None for line in added)
    shown = agro_versions("diff", first.name, "--out", out)
    assert shown.exit_code == 0, shown.output
    assert "8 rows" in shown.output


def test_prune_says_what_it_would_free_and_spares_what_is_published(out: Path) -> None:
    first, *_ = list_versions(out, "shop")
    record_published(first)
    told = json.loads(agro_versions("prune", out, "--keep", 1, "--dry-run", "--json").output)
    assert told["pruned"] == 1
    assert told["freed_bytes"] > 0
    assert len(list_versions(out, "shop")) == 3
    done = agro_versions("prune", out, "--keep", 1)
    assert done.exit_code == 0, done.output
    assert "published" in done.output
    assert [path.name[:5] for path in list_versions(out, "shop")] == ["v0001", "v0003"]


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe{", b"null", b"[]"])
def test_a_manifest_that_is_none_hides_no_other_version(damage: bytes, out: Path) -> None:
    *_, newest = list_versions(out, "shop")
    (newest / "manifest.json").chmod(0o644)
    (newest / "manifest.json").write_bytes(damage)
    done = agro_versions(out, "--json")
    assert done.exit_code == 1
    assert [row["examples"] for row in json.loads(done.stdout)] == [12, 16]
    assert f"{newest}/manifest.json: cannot be read as a manifest" in done.stderr.replace("\n", "")
    found = newest_corpus(out)
    assert found.state == "missing"
    assert "damaged" in found.says


def test_what_is_not_there_is_said(out: Path) -> None:
    assert "no version v0009-00000000" in str(agro_versions("diff", "v0009-00000000", "--out", out).exception)
    assert "no corpus" in str(agro_versions("prune", out / "absent").exception)


def test_what_was_made_from_a_corpus_is_no_corpus(out: Path, tmp_path: Path) -> None:
    made = {"corpus": "shop-trajectories", "of_corpus": {"name": "shop", "version": "v0001-aaaaaaaa"}}
    folder = tmp_path / "shop-trajectories" / "v0001-bbbbbbbb"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(made))
    for verb in (
        ["publish", folder, "--repo-id", "ann/shop", "--license", "mit", "--source-license", "mit", "--dry-run"],
        ["export", folder, "--format", "sft", "--out", tmp_path / "sft"],
        ["report", folder, "--html", tmp_path / "report.html"],
        ["versions", "diff", folder, "--out", out],
    ):
        done = CliRunner().invoke(data, [str(word) for word in verb])
        assert isinstance(done.exception, NoVersion), done.output
        assert "give that one, shop v0001-aaaaaaaa" in str(done.exception)


def test_licences_are_read_from_a_file_of_any_editor(tmp_path: Path) -> None:
    text = "# of each database\r\n  # and a note\r\n shop = CC0-1.0\r\nmit\r\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "licences.txt").write_bytes(text.encode(encoding))
        assert source_licenses([f"@{tmp_path / 'licences.txt'}"], "*") == {"shop": "cc0-1.0", "*": "mit"}
