"""The job that deletes old versions, and the one that looks at stored ones again, run by Dagster."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import publish_samples as samples
import pytest
import yaml

from agro_data.defs.pools import DATABASE, NETWORK
from agro_data.publish.read import list_versions
from agro_data.publish.retention import record_published
from agro_data.publish.version import write_version
from agro_train.definitions import defs

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Two corpora; the first has five versions, of which the oldest is published."""
    for name, digits in (("shop", "abcde"), ("bank", "f")):
        for digit in digits:
            write_version(
                *(tmp_path, name),
                fingerprint=digit * 64,
                examples=samples.examples(12),
                rejected=samples.rejected(2),
                manifest=samples.manifest(),
            )
    record_published(list_versions(tmp_path, "shop")[0])
    return tmp_path


def run(out: Path, built: Path | None = None, **settings: object) -> dg.ExecuteInProcessResult:
    """The job, where the asset `corpus` made the version `built` last."""
    with dg.instance_for_test() as instance:
        if built is not None:
            instance.report_runless_asset_event(dg.AssetMaterialization("corpus", metadata={"dagster/uri": str(built)}))
        return defs.resolve_job_def("prune_versions").execute_in_process(
            run_config={
                "ops": {"delete_old_versions": {"config": settings}},
                "resources": {"place": {"config": {"datasets": str(out)}}},
            },
            instance=instance,
            raise_on_error=False,
        )


def test_old_versions_go_and_published_ones_stay(out: Path) -> None:
    before = [path.name for path in list_versions(out, "shop")]
    assert run(out, keep=2, dry_run=True).success
    assert [path.name for path in list_versions(out, "shop")] == before
    done = run(out, keep=2)
    assert done.success
    assert [path.name for path in list_versions(out, "shop")] == [before[0], *before[-2:]]
    assert len(list_versions(out, "bank")) == 1
    (output,) = (event for event in done.all_events if event.event_type_value == "STEP_OUTPUT")
    shown = output.step_output_data.metadata["versions"].records
    assert {record.data["stays because"] for record in shown} == {"published", "goes", "among the newest", "latest"}


def test_one_corpus_can_be_named_and_a_name_that_is_none_is_said(out: Path) -> None:
    assert run(out, keep=1, name="bank").success
    assert len(list_versions(out, "shop")) == 5
    failed = run(out, name="shpo")
    assert not failed.success
    (event,) = (event for event in failed.all_events if event.event_type_value == "STEP_FAILURE")
    assert "corpus 'shpo' has no version" in str(event.step_failure_data.user_failure_data.description)


def test_what_the_asset_stands_for_stays(out: Path) -> None:
    """It is not the latest where a build gave a version that was there already."""
    built = list_versions(out, "shop")[1]
    assert run(out, built, keep=1, dry_run=True).success
    assert run(out, built, keep=1).success
    assert [path.name[:5] for path in list_versions(out, "shop")] == ["v0001", "v0002", "v0005"]


def test_to_keep_none_is_refused_in_words(out: Path) -> None:
    failed = run(out, keep=0)
    (event,) = (event for event in failed.all_events if event.event_type_value == "STEP_FAILURE")
    assert "keep is 0: at least 1" in str(event.step_failure_data.user_failure_data.description)


def test_nothing_is_deleted_where_there_is_nothing(tmp_path: Path) -> None:
    assert run(tmp_path / "empty").success


def test_each_pool_that_is_named_has_a_limit() -> None:
    """`default_limit` bounds every pool; `op` is what also holds between runs of `dagster job execute`."""
    settings = yaml.safe_load((ROOT / "dagster_home" / "dagster.yaml").read_text())
    assert settings["concurrency"]["pools"] == {"granularity": "op", "default_limit": 1}
    graph = defs.resolve_asset_graph()
    named = {pool for node in graph.asset_nodes for pool in node.pools or ()}
    assert named == {DATABASE, NETWORK}  # a model's is held while it runs


def test_the_corpus_is_verified_by_its_checks_alone() -> None:
    job = defs.resolve_job_def("verify_corpus")
    assert not job.asset_layer.executable_asset_keys
    assert {key.name for key in job.asset_layer.asset_graph.asset_check_keys} == {
        "corpus_is_whole",
        "stored_digests_replay",
        "certificates_hold",
    }
