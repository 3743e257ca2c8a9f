"""A version checked by its solvers becomes the next one of its corpus: rows, certificates and log hold together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from alignment.aligning import SANDBOX, knows_one, solver_of
from click.testing import CliRunner
from making import build_corpus, database_at, make_school
from scripted_model import Scripted

from agro_data.alignment.cycles import Rule
from agro_data.alignment.judge import Dispute, Judgement, outvoted
from agro_data.alignment.regenerate import Regenerator
from agro_data.alignment.solvers import Solver
from agro_data.databases.discovery.catalog import find_databases
from agro_data.llm.accounting import FREE
from agro_data.llm.client import Client
from agro_data.llm.types import Request
from agro_data.profiling.cache import cached_profile
from agro_data.prompts.judge import Ruling
from agro_data.publish.publication.checks import check_version
from agro_data.publish.read import Version, open_version
from agro_data.publish.version import NotWritten
from agro_data.sql.difficulty import HARDNESS
from agro_data.stages.aligned import Referees, align_version
from agro_data.verify.replay import replay, replay_instances
from agro_train.aligning import AlignConfig, align
from agro_train.defs.metadata import of_alignment
from agro_train.tasks import NoTask
from agro_train.verbs.align import align_command
from bench.parts.scripted_server import ScriptedServer

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("aligned")


@pytest.fixture(scope="module")
def before(folder: Path) -> Version:
    make_school(folder / "school.sqlite")
    return build_corpus(folder, folder / "school.sqlite", size=40, styles_per_sql=2, unanswerable=0.1).version


def aligned(version: Version, folder: Path, solver: Solver, **more: Any) -> Version:
    database = database_at(folder / "school.sqlite")
    home = {database.db_id: (database, cached_profile(database, folder / "profiles"))}
    given: dict[str, Any] = {"regenerate": Regenerator(SANDBOX), "facts": {"judge": "outvoted"}} | more
    referees = Referees([solver], Rule(need=2, cycles=2), **given)
    return open_version(align_version(version, home, folder / "out", referees, SANDBOX, folder / "cache"))


def unsound(version: Version, folder: Path) -> list[str]:
    """The checks before a publication that do not hold."""
    found = check_version(version, find_databases(folder / "school.sqlite").databases)
    return [f"{check.name}: {check.says}" for check in found if not check.passed]


def test_what_is_confirmed_becomes_the_next_version(before: Version, folder: Path) -> None:
    every = before.examples().collect().sort("example_id")
    rows = every.filter("answerable")
    assert 0 < rows.height < every.height
    by_question = dict(zip(rows["question"], rows["sql"], strict=True))
    mended, doubted = rows["question"][0], rows["question"][1]
    instead = "SELECT name, salary FROM teacher WHERE salary > 3000"
    asked: list[str] = []

    def solve(question: str) -> list[str]:
        asked.append(question)
        sql = instead if question == mended else by_question[question]
        return ["", ""] if question == doubted else [sql, sql, ""]

    after = aligned(before, folder, solver_of("known", solve))
    found = after.examples().collect()
    assert after.verify_hashes() == []
    assert (after.manifest["parent"], after.manifest["alignment"]["of"]) == (before.name, before.name)
    assert unsound(after, folder) == []
    kept = dict(found["split"].value_counts().iter_rows()) | after.manifest["split"]
    assert kept["method"] == before.manifest["split"]["method"]
    assert all(kept[split] == count for split, count in kept["counts"].items() if count)
    assert after.manifest["counts"]["not_chosen"] == before.manifest["counts"]["not_chosen"]
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
    _aligned_once_more(after, folder)


def _aligned_once_more(once: Version, folder: Path) -> None:
    """An alignment of an alignment keeps what that made, and tells its own rejected rows from those before."""
    rows = once.examples().filter("answerable").sort("example_id").collect()
    by_question = dict(zip(rows["question"], rows["sql"], strict=True))
    [(made, split)] = rows.filter(pl.col("generator") == "alignment").select("sql", "split").rows()
    others = rows.filter((pl.col("generator") != "alignment") & (pl.col("split") == split))["question"]
    mended, doubted = others[0], others[1]

    def solve(question: str) -> list[str]:
        sql = made if question == mended else by_question[question]
        return [""] if question == doubted else [sql, sql]

    twice = aligned(once, folder, solver_of("other", solve))
    assert unsound(twice, folder) == []
    found = twice.examples().collect().filter(pl.col("sql") == made)
    assert found.height == 2
    first, second = (set(names) for names in found["instances"])
    assert not first & second, "files of an alignment before are not replaced"
    rejected: Any = of_alignment(twice, {}, FREE)["rejected"]
    assert [(record.data["reason"], record.data["rows"]) for record in rejected.records] == [("unsettled", 1)]


def test_what_changed_is_held_to_what_is_true_of_the_corpus(before: Version, folder: Path) -> None:
    """Two questions become one, of one SQL and of two; one SQL becomes that of another split, one is excluded."""
    every = before.examples().collect().sort("example_id")
    rows = every.filter("answerable")
    of_train = rows.filter(pl.col("split") == "train")
    twice = [own for _, own in of_train.group_by("sql", maintain_order=True) if own.height == 2]
    twins, others = twice[0], twice[1:]
    [elsewhere] = rows.filter(pl.col("split") == "test").head(1)["sql"]
    apart = [own.row(0, named=True) for own in others[:2]]
    moved, banned = (own.row(0, named=True) for own in others[2:4])
    excluded = "SELECT name, salary FROM teacher WHERE salary > 3000"
    file = folder / "excluded.json"
    file.write_text(json.dumps([{"question": "Who earns a lot?", "query": excluded}]))
    version = Version(before.path)
    version.manifest["config"]["exclude"] = [str(file)]

    asked_anew = {row["question"] for row in (*twins.to_dicts(), *apart)}
    mended = {moved["question"]: elsewhere, banned["question"]: excluded}
    right = dict(zip(rows["question"], rows["sql"], strict=True)) | mended
    same = {twins["sql"][0]: "What is wanted of these?"} | {row["sql"]: "And what of those?" for row in apart}

    def solve(question: str) -> list[str]:
        if question in asked_anew:
            return ["", ""]
        of_new = [sql for sql, text in same.items() if text == question]
        return [sql for sql in of_new or [right[question]] for _ in range(2)]

    def judge(disputes: Sequence[Dispute], cycle: int) -> list[Judgement]:
        return [
            Judgement(Ruling("question_wrong", "nobody can tell"))
            if one.example.question in asked_anew
            else outvoted(2)([one], cycle)[0]
            for one in disputes
        ]

    def write(request: Request) -> str:
        [text] = {text for sql, text in same.items() if any(sql in message.content for message in request.messages)}
        return json.dumps({"question": text, "evidence": None})

    regenerate = Regenerator(SANDBOX, writer=Client(Scripted(write)))
    solver = solver_of("told", solve)
    after = aligned(version, folder, solver, judge=judge, regenerate=regenerate, facts={"judge": "told"})

    assert unsound(after, folder) == []
    refused = after.rejected().filter(pl.col("stage") == "alignment").collect()
    assert dict(refused.group_by("reason").len().iter_rows()) == {
        "same_question": 2,
        "split_leak": 1,
        "excluded_sql": 1,
    }
    assert refused.filter(pl.col("reason") == "split_leak")["sql"].to_list() == [elsewhere]
    found = after.examples().collect()
    assert found.height + refused.height == every.height
    assert found.filter(pl.col("question").is_in(list(same.values()))).height == 2
    index = after.instances().collect()
    assert index.unique(["example_id", "file"]).height == index.height
    counts = after.manifest["alignment"]["acceptance"]
    levels = [one["hardness"] for one in counts]
    assert levels == [level for level in HARDNESS if level in levels]
    assert sum(one["rejected"] for one in counts) == 4
    assert sum(one["mended"] for one in counts) == 2
    assert sum(one["examples"] for one in counts) == rows.height


def test_where_nothing_is_confirmed_no_version_is_written(before: Version, folder: Path) -> None:
    with pytest.raises(NotWritten, match=r"none of \d+ examples is confirmed \(unsettled \d+\)"):
        aligned(before, folder, solver_of("none", lambda question: [""]))


def test_models_are_not_shown_values_that_a_version_was_made_without(before: Version, folder: Path) -> None:
    private = folder / "private" / before.corpus / before.name
    private.mkdir(parents=True)
    manifest = before.manifest | {"config": before.manifest["config"] | {"values": "synthetic"}}
    (private / "manifest.json").write_text(json.dumps(manifest))
    with ScriptedServer(lambda body: "") as server:
        config = AlignConfig(corpus=str(private), solvers=(server.base,), data=str(folder / "private"))
        with pytest.raises(NoTask, match="--values synthetic"):
            align(config)
        assert not server.tries


def test_the_verb_asks_a_server_and_a_judge(before: Version, folder: Path) -> None:
    every = before.examples().collect().sort("example_id")
    rows = every.filter("answerable")
    question, sql = rows["question"][0], rows["sql"][0]
    # A gold may take as long as a build lets it, and so may an answer: longer than a statement on an instance.
    counted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i != 260000) SELECT COUNT(*) FROM n"
    long = f"SELECT * FROM ({sql}) WHERE ({counted}) > 0"

    with ScriptedServer(knows_one(question, long)) as server:
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
    assert after.manifest["parent"] == before.name  # which is not the newest
    assert {one["stage"]: one["requests"] for one in figures["spent"]} == {"judge": rows.height - 1}
    assert figures["solvers"][0]["weights"].endswith("#m")
