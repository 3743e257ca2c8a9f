"""Stages that ask a model: whose turn they wait for, what a run shows of them, and what a run that is killed keeps.

(No postponed annotations here: Dagster reads the context's type from them.)
"""

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from making import make_school, one_worker
from synthesis.school_model import Model

from agro_data.config import BuildConfig
from agro_data.defs.pools import GPU, NETWORK, holding, pools_of
from agro_data.pipeline import prepare, run_stage
from agro_train.definitions import defs
from bench.parts.scripted_server import ScriptedServer

ONE_EACH = {"concurrency": {"pools": {"granularity": "op", "default_limit": 1}}, "telemetry": {"enabled": False}}


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test(overrides={"concurrency": ONE_EACH["concurrency"]}) as opened:
        yield opened


def run_config(folder: Path, address: str) -> dict[str, Any]:
    made = folder / "school.sqlite"
    if not made.exists():
        make_school(made)
    build = {"databases": str(made), "name": "school", "size": 12, "embedding_model": "structural"}
    asks = {"generator": "both", "writer": address, "certify": False}
    place = {"datasets": str(folder / "out"), "cache_folder": str(folder / "cache"), "workers": 1}
    return {
        "resources": {"place": {"config": place | {"price_read": 1.0, "price_written": 10.0}}},
        "ops": {"databases": {"config": build | asks}},
    }


def slots(instance: dg.DagsterInstance, pool: str) -> list[str]:
    return [slot.step_key for slot in instance.event_log_storage.get_concurrency_info(pool).claimed_slots]


@pytest.mark.parametrize(
    ("settings", "asking"),
    [
        ({"generator": "llm", "writer": "http://localhost:1/v1"}, {"candidates", "verified", "questions", "certified"}),
        ({"wording": "paraphrase", "writer": "http://localhost:1/v1"}, {"questions", "certified"}),
        ({}, set()),
    ],
)
def test_stages_that_ask_hold_the_pool_of_their_model(settings: dict[str, Any], asking: set[str]) -> None:
    stages = ("profiles", "candidates", "verified", "questions", "distinct", "certified", "embeddings", "selection")
    config = BuildConfig("d", **settings)
    assert {stage: pools_of(config, stage) for stage in stages} == {
        stage: {NETWORK} if stage in asking else set() for stage in stages
    }
    if config.writer:
        here = BuildConfig("d", **settings | {"writer": "vllm:some/model"})
        assert {pool for stage in stages for pool in pools_of(here, stage)} == {GPU}


def test_one_waits_until_the_other_is_done(instance: dg.DagsterInstance) -> None:
    order: list[str] = []
    storage = instance.event_log_storage
    storage.initialize_concurrency_limit_to_default(GPU)
    assert storage.claim_concurrency_slot(GPU, "another run", "trains").is_claimed

    def end() -> None:
        order.append("another")
        storage.free_concurrency_slot_for_step("another run", "trains")

    @dg.asset
    def asking(context: dg.AssetExecutionContext) -> None:
        threading.Timer(0.5, end).start()
        with holding(context, [GPU]):
            order.append("this")
            assert slots(instance, GPU) == ["asking (gpu)"]

    @dg.asset
    def broken(context: dg.AssetExecutionContext) -> None:
        with holding(context, [GPU, NETWORK]):
            raise ValueError("the model is gone")

    assert dg.materialize([asking], instance=instance).success
    assert order == ["another", "this"]
    assert not dg.materialize([broken], instance=instance, raise_on_error=False).success
    assert slots(instance, GPU) == slots(instance, NETWORK) == []


def test_without_a_limit_nobody_waits() -> None:
    @dg.asset
    def asking(context: dg.AssetExecutionContext) -> None:
        with holding(context, [GPU]):
            context.log.info("asked")

    with dg.instance_for_test() as unlimited:
        assert dg.materialize([asking], instance=unlimited).success


@pytest.mark.slow
def test_a_run_shows_how_far_its_model_is_and_what_it_took(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    model = Model()
    held: set[str] = set()

    def reply(body: Mapping[str, Any]) -> str:
        held.update(slots(instance, NETWORK))
        time.sleep(0.2)
        return str(model.reply(body))

    with ScriptedServer(reply) as server:
        job = defs.resolve_job_def("build_corpus")
        done = job.execute_in_process(run_config=run_config(tmp_path, server.base), instance=instance)
    assert done.success
    assert {"candidates (network)", "questions (network)"} <= held
    assert slots(instance, NETWORK) == []
    logs = instance.all_logs(done.run_id)
    said = "\n".join(entry.user_message for entry in logs)
    assert "candidates (model): " in said
    assert "questions (model): " in said
    (event,) = done.asset_materializations_for_node("corpus")
    table = event.metadata["asked of a model"].value
    rows = {str(row.data["stage"]): row.data for row in table.records}  # type: ignore[union-attr]
    assert set(rows) == {"candidates", "questions"}
    for row in rows.values():
        assert row["requests"] == row["answered"] == row["sent"] > 0  # type: ignore[operator]
        paid = int(row["tokens_read"]) + 10 * int(row["tokens_written"])
        assert row["cost"] == row["cost_paid"] == pytest.approx(paid / 1e6)
    (first,) = done.asset_materializations_for_node("candidates")
    assert [row.data["stage"] for row in first.metadata["asked of a model"].value.records] == ["candidates"]  # type: ignore[union-attr]


STAGES = ("profiles", "candidates", "verified", "questions")


def questions_of(folder: Path) -> dict[str, bytes]:
    """The finished shards of the last of the stages."""
    (work,) = (folder / "cache" / "work").iterdir()
    return {path.name: path.read_bytes() for path in sorted((work / "questions").glob("*.parquet"))}


def execute(folder: Path, address: str) -> subprocess.Popen[bytes]:
    """The assets of these stages, materialized by a process of its own."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text(yaml.safe_dump(ONE_EACH))
    config = folder / "run.yaml"
    config.write_text(yaml.safe_dump(run_config(folder, address)))
    command = f"-m dagster asset materialize -m agro_train.definitions --select databases,{','.join(STAGES)} --config"
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, *command.split(), str(config)],
            env=os.environ | {"DAGSTER_HOME": str(home)},
            stdout=log,
            stderr=log,
        )


class Noting:
    """A model that notes each request that it answers. After `enough` of a stage it says nothing, and hangs up when it
    is let go."""

    def __init__(self, stage: str = "", enough: int = 0) -> None:
        self.model, self.stage, self.enough = Model(), stage, enough
        self.answered: list[tuple[str, int]] = []
        self.of_stage = 0
        self.stuck, self.let_go = threading.Event(), threading.Event()
        self.lock = threading.Lock()

    def __call__(self, body: Mapping[str, Any]) -> str:
        text = "\n".join(message["content"] for message in body["messages"])
        if "Database:" not in text:  # finds out how it can be asked
            return str(self.model.reply(body))
        stage = "questions" if "What it means:" in text else "candidates"
        with self.lock:
            self.of_stage += stage == self.stage
            late = self.of_stage > self.enough and stage == self.stage
            if not late:
                self.answered.append((text, body["seed"]))
        if late:
            self.stuck.set()
            self.let_go.wait(60)
            raise ConnectionError  # a worker that outlives a killed run by a moment would keep the answer
        return str(self.model.reply(body))


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["candidates", "questions"])
def test_a_run_that_is_killed_is_asked_for_the_rest_alone(stage: str, tmp_path: Path) -> None:
    """SIGKILL while some answers of the stage are kept and others under way: what is stored in the end is the same."""
    killed, resumed, whole = Noting(stage, enough=2), Noting(), Noting()
    with ScriptedServer(killed) as server:
        run = execute(tmp_path, server.base)
        assert killed.stuck.wait(200), (tmp_path / "log").read_text()[-3_000:]
        (kept,) = (tmp_path / "cache" / "llm").glob("*.answers")
        deadline = time.monotonic() + 30
        while kept.read_bytes().count(b"\n") < len(killed.answered):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        run.kill()
        run.wait()
        killed.let_go.set()
    with ScriptedServer(resumed) as server:
        assert execute(tmp_path, server.base).wait(200) == 0, (tmp_path / "log").read_text()[-3_000:]
    settings = run_config(tmp_path, "")["ops"]["databases"]["config"]
    run_there = one_worker(tmp_path / "whole")
    with ScriptedServer(whole) as server:
        context = prepare(BuildConfig.from_dict(settings | {"writer": server.base}), run_there)
        for one in STAGES:
            run_stage(one, context, workers=1)
    assert resumed.answered
    twice_or_never = Counter(killed.answered + resumed.answered)
    twice_or_never.subtract(Counter(whole.answered))
    assert {request: count for request, count in twice_or_never.items() if count} == {}
    assert questions_of(tmp_path) == questions_of(tmp_path / "whole") != {}
