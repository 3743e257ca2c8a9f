"""A model's server that fails for a while: what it left without an answer is asked again, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from build.test_reuse import told
from making import make_school, one_worker
from synthesis.school_model import Model

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.llm.endpoint import EndpointError
from agro_data.parallel import run_shards
from agro_data.pipeline import prepare, run_stage
from agro_data.stages import model, reuse
from agro_data.stages.context import Context
from agro_data.stages.model import all_unanswered, spent_in
from agro_data.work import Work
from bench.parts.scripted_server import Fault, Faults, ScriptedServer

pytestmark = pytest.mark.ci

BEFORE = {"candidates": ["profiles"], "questions": ["profiles", "candidates", "verified"]}
BY = {"candidates": {"generator": "llm"}, "questions": {"generator": "grammar", "wording": "paraphrase"}}


@dataclass(frozen=True)
class Down(Faults):
    """What finds out how a server can be asked is answered: the faults come after it."""

    share: float = 0.3
    kinds: tuple[Fault, ...] = ("busy",)
    after: int = 86_400  # that it asks to be left alone for a day is not waited for
    lasting: bool = True

    def of(self, body: Mapping[str, Any], attempt: int) -> Fault | None:
        return None if body["max_tokens"] == 1 else super().of(body, attempt)


UP = Faults()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Model().reply) as opened:
        yield opened


@pytest.fixture
def school(tmp_path: Path) -> Path:
    return make_school(tmp_path / "school.sqlite")


Settings = Callable[..., agro_data.BuildConfig]


@pytest.fixture
def settings(school: Path, server: ScriptedServer) -> Settings:
    def made(**changes: Any) -> agro_data.BuildConfig:
        given = {"databases": str(school), "size": 12, "embedding_model": STRUCTURAL, "certify": False}
        return agro_data.BuildConfig.from_dict(given | {"writer": server.base} | changes)

    return made


def run(place: Path) -> agro_data.RunConfig:
    return one_worker(place)


def asked(server: ScriptedServer) -> set[str]:
    """The requests since the last time, without those that find out how the server can be asked."""
    bodies = {body for body in server.tries if json.loads(body)["max_tokens"] != 1}
    server.tries.clear()
    return bodies


def done(stage: str, config: agro_data.BuildConfig, place: Path) -> Context:
    context = prepare(config, run(place))
    for name in [*BEFORE[stage], stage]:
        run_stage(name, context, workers=1)
    return context


def rows_of(work: Work, stage: str) -> dict[str, list[dict[str, Any]]]:
    return {shard: work.read(stage, shard).to_dicts() for shard in work.shards(stage)}


@pytest.mark.parametrize("stage", ["candidates", "questions"])
def test_the_next_run_asks_for_what_failed_and_gives_what_a_run_without_faults_gives(
    stage: str, settings: Settings, server: ScriptedServer, tmp_path: Path
) -> None:
    server.faults = Down()
    ill = done(stage, settings(**BY[stage]), tmp_path / "ill")
    failed = {body for body in asked(server) if server.faults.of(json.loads(body), 1)}
    assert failed
    assert sum(all_unanswered(ill.work).values()) == spent_in(ill.work, stage).failed == len(failed)

    server.faults = UP
    again = done(stage, settings(**BY[stage]), tmp_path / "ill")
    assert asked(server) == failed
    assert again.work.root != ill.work.root
    assert not all_unanswered(again.work)
    well = done(stage, settings(**BY[stage]), tmp_path / "well")
    assert rows_of(again.work, stage) == rows_of(well.work, stage) != rows_of(ill.work, stage)

    asked(server)
    assert done(stage, settings(**BY[stage]), tmp_path / "ill").work == again.work
    assert asked(server) == set()


def test_shards_that_lack_answers_are_nobody_elses_and_tokens_come_along_with_the_others(
    settings: Settings, server: ScriptedServer, tmp_path: Path
) -> None:
    server.faults = Down()
    ill = done("candidates", settings(generator="llm"), tmp_path)
    asked(server)
    server.faults = UP
    other = done("candidates", settings(generator="llm", name="other"), tmp_path)
    assert reuse.counts(other.work, "candidates")[reuse.TAKEN] == 0
    assert asked(server), "what failed is asked for"

    third = done("candidates", settings(generator="llm", name="third"), tmp_path)
    counts = reuse.counts(third.work, "candidates")
    assert counts[reuse.TAKEN] == counts[reuse.SHARDS] > 0
    assert asked(server) == set()
    took, before = (spent_in(context.work, "candidates") for context in (third, other))
    assert took.used == before.used
    assert took.used.written > spent_in(ill.work, "candidates").used.written
    assert (took.requests, took.failures) == (before.requests, before.failures)
    assert (took.sent, took.paid.written, took.cached) == (0, 0, took.requests), "another build has paid for it"


@pytest.mark.slow
def test_a_version_that_lacks_answers_is_followed_by_the_whole_one(
    settings: Settings, server: ScriptedServer, tmp_path: Path
) -> None:
    config = settings(generator="both", wording="paraphrase", certify=True)
    well = agro_data.build(config=config, run=run(tmp_path / "well"))
    assert not well.problems
    server.faults = Down()
    ill = agro_data.build(config=config, run=run(tmp_path / "ill"))
    assert any("build again" in problem for problem in ill.problems)
    reasons = set(ill.version.rejected().collect()["reason"])
    assert "unwritten_busy" in reasons

    same = agro_data.build(config=config, run=run(tmp_path / "ill"))
    assert same.version.path == ill.version.path, "the server fails as before: there is no other version"
    server.faults = UP
    whole = agro_data.build(config=config, run=run(tmp_path / "ill"))
    assert not whole.problems
    assert whole.version.fingerprint == well.version.fingerprint != ill.version.fingerprint
    assert told(whole) == told(well)
    assert whole.version.manifest["asked_of_a_model"] == well.version.manifest["asked_of_a_model"]
    asked(server)
    assert agro_data.build(config=config, run=run(tmp_path / "ill")).version.path == whole.version.path
    assert asked(server) == set()


def test_a_server_that_has_gone_since_the_build_began_says_nothing_of_a_shard(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = prepare(settings(wording="paraphrase"), run(tmp_path))

    def gone(name: str) -> Any:
        raise EndpointError("no answer after 5 tries; is the server running?")

    monkeypatch.setattr(model, "_opened", gone)
    (outcome,) = run_shards(lambda _: model.writer_of(context), ["school.00.000"], 1, lambda _: None)
    assert outcome.lost
    assert "is the server running?" in outcome.error
