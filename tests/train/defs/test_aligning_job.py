"""`align_corpus`: models confirm a corpus in a child process, and its asset shows what they agreed on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from alignment.aligning import knows_one
from making import make_school, one_worker

import agro_data
from agro_data.defs.pools import NETWORK
from agro_data.publish.read import latest, open_version
from agro_train.aligning import AlignConfig
from agro_train.definitions import defs
from agro_train.programs.settings import SettingsError
from bench.parts.scripted_server import ScriptedServer


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    limits = {"concurrency": {"pools": {"granularity": "op", "default_limit": 1}}}
    with dg.instance_for_test(overrides=limits) as opened:
        yield opened


def execute(folder: Path, instance: dg.DagsterInstance, **config: Any) -> dg.ExecuteInProcessResult:
    where = {"datasets": str(folder / "out"), "cache_folder": str(folder / "cache"), "workers": 1}
    training = {"databases": str(folder / "school.sqlite"), "models": str(folder / "models")}
    return defs.resolve_job_def("align_corpus").execute_in_process(
        run_config={
            "resources": {
                "place": {"config": where | {"price_written": 1e6}},
                "training": {"config": training},
            },
            "ops": {"aligned_corpus": {"config": config}},
        },
        instance=instance,
        raise_on_error=False,
    )


def counts(table: Any, name: str) -> dict[str, int]:
    return {record.data[name]: record.data["rows"] for record in table.value.records}


@pytest.mark.slow
def test_what_a_server_and_a_judge_confirm(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    make_school(tmp_path / "school.sqlite")
    run = one_worker(tmp_path)
    settings: dict[str, Any] = {"name": "school", "size": 6, "embedding_model": "structural", "certify": False}
    before = agro_data.build(tmp_path / "school.sqlite", run=run, **settings).version
    rows = before.examples().sort("example_id").collect()
    question, sql = rows["question"][0], rows["sql"][0]
    held: set[str] = set()

    known = knows_one(question, sql)

    def reply(body: Mapping[str, Any]) -> str:
        slots = instance.event_log_storage.get_concurrency_info(NETWORK).claimed_slots
        held.update(slot.step_key for slot in slots)
        return known(body)

    with ScriptedServer(reply) as server:
        asked = {"solvers": [server.base], "judge": server.base, "samples": 2, "need": 2, "cycles": 1}
        done = execute(tmp_path, instance, **asked)
    assert done.success
    assert held == {"aligned_corpus (network)"}
    after = open_version(latest(tmp_path / "out", "school"))
    (event,) = done.asset_materializations_for_node("aligned_corpus")
    shown = event.metadata
    assert (shown["version"].value, shown["version before"].value) == (after.name, before.name)
    assert shown["dagster/row_count"].value == rows.height
    assert counts(shown["verdicts"], "verdict") == {"predictor_wrong": rows.height - 1, "agreed": 1}
    assert counts(shown["made anew"], "part") == {}
    agree = [record.data for record in shown["agreement by hardness"].value.records]  # type: ignore[union-attr]
    assert sum(line["examples"] for line in agree) == rows.height  # type: ignore[misc]
    assert sum(line["examples"] * line["agree"] for line in agree) == pytest.approx(1, abs=0.01)  # type: ignore[misc, operator]
    (judge,) = (record.data for record in shown["asked of a model"].value.records)  # type: ignore[union-attr]
    assert (judge["stage"], judge["requests"]) == ("judge", rows.height - 1)
    assert judge["cost"] == judge["tokens_written"] > 0  # type: ignore[operator]
    said = "\n".join(entry.user_message for entry in instance.all_logs(done.run_id))
    assert f"alignment: {rows.height:,} of {rows.height:,} examples" in said


def test_settings_that_cannot_be_used_are_said() -> None:
    with pytest.raises(SettingsError, match="solvers is empty"):
        AlignConfig()
    with pytest.raises(SettingsError, match="cycles is 0"):
        AlignConfig(solvers=("promoted",), cycles=0)
    with pytest.raises(SettingsError, match="need is 7, but only 6 answers"):
        AlignConfig(solvers=("promoted", "http://localhost"), samples=3, need=7)
