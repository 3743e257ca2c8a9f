"""A version checked by its solvers becomes the next one of its corpus: rows, certificates and log hold together."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from alignment.aligning import SANDBOX, knows_one
from click.testing import CliRunner
from making import make_school

import agro_data
from agro_data.alignment.cycles import Rule
from agro_data.alignment.regenerate import Regenerator
from agro_data.alignment.solvers import Solver, solver_of
from agro_data.databases.catalog import find_databases
from agro_data.llm.scripted_server import ScriptedServer
from agro_data.profiling.cache import cached_profile
from agro_data.publish.read import Version, open_version
from agro_data.stages.aligned import Referees, align_version
from agro_data.verify.replay import replay, replay_instances
from agro_train.verbs.align import align_command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("aligned")


@pytest.fixture(scope="module")
def before(folder: Path) -> Version:
    make_school(folder / "school.sqlite")
    run = agro_data.RunConfig(out=folder / "out", cache=folder / "cache", workers=1)
    return agro_data.build(
        folder / "school.sqlite", size=20, unanswerable=0.2, embedding_model="structural", run=run
    ).version


def aligned(version: Version, folder: Path, solver: Solver) -> Version:
    database = find_databases(folder / "school.sqlite").databases[0]
    home = {database.db_id: (database, cached_profile(database, folder / "profiles"))}
    referees = Referees([solver], Rule(need=2, cycles=2), Regenerator(SANDBOX), facts={"judge": "outvoted"})
    return open_version(align_version(version, home, folder / "out", referees, SANDBOX, folder / "cache"))


def test_what_is_confirmed_becomes_the_next_version(before: Version, folder: Path) -> None:
    every = before.examples().collect().sort("example_id")
    rows = every.filter("answerable")
    assert 0 < rows.height < every.height
    by_question = dict(zip(rows["question"], rows["sql"], strict=True))
    mended, doubted = rows["question"][0], rows["question"][1]
    instead = "SELECT name, salary FROM teacher WHERE salary > 3000"
    asked: list[str] = []

    def solve(question: str, schema: str) -> list[str]:
        asked.append(question)
        sql = instead if question == mended else by_question[question]
        return ["", ""] if question == doubted else [sql, sql, ""]

    after = aligned(before, folder, solver_of("known", solve))
    found = after.examples().collect()
    assert after.verify_hashes() == []
    assert (after.manifest["parent"], after.manifest["alignment"]["of"]) == (before.name, before.name)
    assert after.profiles() == before.profiles() != {}
    assert found.height == every.height - 1
    assert set(found.filter("answerable")["alignment_method"]) == {"verified"}
    assert found.filter("answerable")["alignment_score"].unique().to_list() == [2 / 3]
    assert found.filter(~pl.col("answerable")).equals(
        every.filter(~pl.col("answerable"))
    )  # nobody is asked about those

    new = found.row(by_predicate=pl.col("question") == mended, named=True)
    assert (new["sql"], new["generator"], new["steps"]) == (instead, "alignment", [])
    assert new["example_id"] not in rows["example_id"]
    assert new["instances"]
    assert new["mutants_total"] == after.mutants(new["example_id"]).height > 0
    database = find_databases(folder / "school.sqlite").databases
    assert replay(found, database) == []
    index = after.instances().collect()
    golds = index.join(found.drop("db_id"), on="example_id")
    assert golds.height == found["instances"].list.len().sum()
    readings = found["readings"].explode().drop_nulls().struct.field("reading_id")
    assert set(index["example_id"]) == {*golds["example_id"], *readings}
    assert replay_instances(golds, after.path / "instances") == []

    refused = after.rejected().filter(pl.col("stage") == "alignment").collect().to_dicts()
    assert [(one["question"], one["reason"]) for one in refused] == [(doubted, "unsettled")]
    log = pl.read_parquet(after.path / "alignment" / "cycles.parquet")
    assert log.height == rows.height + 2
    assert sum(one["rejected"] for one in after.manifest["alignment"]["acceptance"]) == 1
    assert pl.read_parquet(after.path / "alignment" / "matches.parquet").is_empty()

    before_again = len(asked)
    assert aligned(before, folder, solver_of("known", solve)).path == after.path
    assert len(asked) == before_again  # a database that is finished is not asked about again


def test_the_verb_asks_a_server_and_a_judge(before: Version, folder: Path) -> None:
    every = before.examples().collect().sort("example_id")
    rows = every.filter("answerable")
    question, sql = rows["question"][0], rows["sql"][0]

    with ScriptedServer(knows_one(question, sql)) as server:
        arguments = ["--corpus", str(before.path), "--solver", server.base, "--judge", server.base, "--samples", "2"]
        where = ["--data", str(folder / "out"), "--databases", str(folder / "school.sqlite"), "--need", "2", "--json"]
        done = CliRunner().invoke(align_command, [*arguments, *where], standalone_mode=False)
    assert done.exception is None, done.output
    figures = json.loads(done.stdout)
    after = open_version(folder / "out" / before.corpus / figures["version"])
    found = after.examples().collect()
    methods = dict(found.filter("answerable").group_by("alignment_method").len().iter_rows())
    assert methods == {"verified": 1, "judged": rows.height - 1}
    assert found.filter(pl.col("alignment_method") == "verified")["question"].to_list() == [question]
    assert sorted(found["example_id"]) == sorted(every["example_id"])
    assert after.verify_hashes() == []
    assert {one["stage"]: one["requests"] for one in figures["spent"]} == {"judge": rows.height - 1}
    assert figures["solvers"][0]["weights"].endswith("#m")
