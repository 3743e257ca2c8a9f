"""An evaluation in, a focus out, and a build that follows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from making import build_corpus

import agro_data
from agro_data.config import ConfigError
from agro_data.evaluation.verdict import Verdict, lines
from agro_data.populate.samples import build_sample
from agro_data.rounds.evidence import verdicts_of
from agro_data.rounds.next_round import next_round, shares_of
from agro_data.verbs.next_round import next_round_command

pytestmark = pytest.mark.ci

SIZE = 130  # of more, a small database has not many more groups to ask for


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sample("clinic", tmp_path_factory.mktemp("sample"))[0]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rounds")


def built(place: Path, sample: Path, **settings: Any) -> agro_data.Version:
    return build_corpus(place, sample, size=SIZE, certify=False, **settings).version


@pytest.fixture(scope="module")
def first(place: Path, sample: Path) -> agro_data.Version:
    return built(place, sample)


def judged(version: agro_data.Version, wrong: pl.Expr, split: str = "train") -> list[Verdict]:
    """All questions of a split, those wrong that the expression says."""
    rows = version.examples(split).with_columns(wrong.alias("wrong")).sort("example_id").collect()
    return [
        Verdict(
            place=f"{split} {row['example_id']}",
            db_id=row["db_id"],
            question=row["question"],
            gold=row["sql"],
            pred=row["sql"],
            score=0.0 if row["wrong"] else 1.0,
            hardness=row["hardness"],
            constructs=tuple(row["constructs"]),
        )
        for row in rows.iter_rows(named=True)
    ]


def stored(folder: Path, verdicts: Sequence[Verdict], metric: str = "strict") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{metric}.jsonl"
    path.write_text(lines(verdicts))
    return path


def share(version: agro_data.Version, has: pl.Expr) -> float:
    return float(version.examples().select(has.mean()).collect().item())


def test_what_failed_is_asked_more_in_the_next_build(place: Path, sample: Path, first: agro_data.Version) -> None:
    grouped, formal = pl.col("constructs").list.contains("group_by"), pl.col("style") == "formal"
    evaluation = stored(place / "failing", judged(first, grouped | formal)).parent
    focus = place / "focus.json"
    done = CliRunner().invoke(next_round_command, [str(evaluation), "--corpus", str(first.path), "--out", str(focus)])
    assert done.exit_code == 0, done.output
    assert "group_by" in done.output
    weights = json.loads(focus.read_text())["weights"]
    assert weights["constructs"]["group_by"] == max(weights["constructs"].values()) > 1
    assert weights["shapes"]["group"] > 1 > weights["shapes"]["list"]
    assert weights["styles"]["formal"] == max(weights["styles"].values())

    second = built(place, sample, focus=str(focus))
    assert second.path != first.path, "the weights are of its identity"
    assert second.examples().collect().height == first.examples().collect().height == SIZE
    assert share(second, grouped) > 1.15 * share(first, grouped)
    assert share(second, formal) > 1.15 * share(first, formal)
    assert built(place, sample, focus=str(focus)).path == second.path


def test_where_nothing_failed_the_next_build_is_as_this_one(
    place: Path, sample: Path, first: agro_data.Version
) -> None:
    found = next_round(stored(place / "right", judged(first, pl.lit(False))), first)
    assert {row["weight"] for row in found.weights} == {1.0}
    focus = place / "even.json"
    focus.write_text(json.dumps(found.to_dict()))
    again = built(place, sample, focus=str(focus)).examples().sort("example_id").collect()
    assert again.equals(first.examples().sort("example_id").collect())


def test_columns_and_their_roles_are_those_of_the_version(place: Path, first: agro_data.Version) -> None:
    columns = first.examples().select(pl.col("columns").explode()).collect()["columns"].value_counts()
    often = columns.sort("count", "columns", descending=True)["columns"][0]
    found = next_round(stored(place / "column", judged(first, pl.col("columns").list.contains(often))), first)
    weights = found.to_dict()["weights"]
    most = max(weights["columns"].values())
    assert weights["columns"][f"clinic {often}"] == most > 1  # as is what it is joined with, wherever it is asked for
    assert {"identifier", "date"} < set(weights["roles"])
    assert set(weights["tables"]) <= {"1", "2", "3", "4"}


def test_what_was_evaluated_is_said_when_it_should_not_steer(place: Path, first: agro_data.Version) -> None:
    verdicts = judged(first, pl.lit(True), split="test")
    other = [Verdict("1", "elsewhere", "How many?", gold="SELECT COUNT(*) FROM t", pred="", score=0.0, hardness="easy")]
    found = next_round(stored(place / "told", [*verdicts, *other]), first)
    told = " ".join(found.notes)
    assert f"1 of {len(verdicts) + 1:,} questions are not of" in told
    assert "test split" in told
    assert "no model was asked" in told


def test_what_says_nothing_of_the_version_writes_no_focus(place: Path, first: agro_data.Version) -> None:
    focus = place / "kept.json"
    focus.write_text("as it was")
    ours = stored(place / "ours", judged(first, pl.lit(True)))
    theirs = stored(
        place / "theirs", [Verdict("1", "elsewhere", "How many?", gold="SELECT COUNT(*) FROM t", pred="", score=0.0)]
    )
    for arguments, says in (
        ([str(theirs)], "none of its 1 questions is of"),
        ([str(ours), "--metric", "foo"], "--metric foo chooses among the files of a folder"),
    ):
        command = [*arguments, "--corpus", str(first.path), "--out", str(focus)]
        done = CliRunner().invoke(next_round_command, command)
        assert isinstance(done.exception, ConfigError)
        assert says in str(done.exception)
    assert focus.read_text() == "as it was"
    assert next_round(ours, first, "strict").of["metric"] == "strict"
    named = ours.rename(ours.with_name("verdicts.jsonl"))
    assert next_round(named, first).of["metric"] == ""


def test_an_evaluation_that_is_none_or_several_is_refused(place: Path, first: agro_data.Version) -> None:
    (place / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"no file of verdicts \(strict-ts or strict\.jsonl\)"):
        next_round(place / "empty", first)
    with pytest.raises(ConfigError, match="nowhere: no such file or folder"):
        next_round(place / "nowhere", first)
    verdicts = judged(first, pl.lit(True))
    for model in ("one", "other"):
        stored(place / "several" / model, verdicts)
    with pytest.raises(ConfigError, match=r"2 files of verdicts \(one/strict\.jsonl, other/strict\.jsonl\)"):
        next_round(place / "several", first)
    assert next_round(place / "several" / "one", first).of["questions"] == len(verdicts)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"score": 1}', "cannot be read as verdicts.*line 2: .*missing"),
        ("[1, 2]", "line 2: expected an object"),
        ('{"score": "0"}', "line 2: .*its score a number"),
        ('{"place": "2", "db_id": "d", "question": "q", "gold": "", "pred": "", "score": 1.25}', "verdict 2 .* 1.25"),
    ],
)
def test_a_verdict_that_cannot_be_read_is_named(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "strict.jsonl"
    file.write_text(lines([Verdict("1", "d", "q", gold="SELECT 1", pred="", score=0.5)]) + line + "\n")
    with pytest.raises(ConfigError, match=says):
        verdicts_of(file)


def test_a_build_says_at_once_that_a_focus_cannot_be_read(place: Path, sample: Path) -> None:
    (place / "bad.json").write_text("[]")
    for name in ("bad.json", "missing.json"):
        with pytest.raises(ConfigError, match=rf"focus .*{name}"):
            built(place, sample, focus=str(place / name))


def test_requests_are_shared_by_what_came_of_them() -> None:
    yields = [
        {"stage": "candidates", "db_id": "a", "arm": "grammar", "requests": 100, "certified": 80},
        {"stage": "candidates", "db_id": "a", "arm": "llm:simple", "requests": 100, "certified": 40},
        {"stage": "candidates", "db_id": "b", "arm": "llm:complex", "requests": 100, "certified": 5},
        {"stage": "candidates", "db_id": "b", "arm": "llm:values", "requests": 100, "certified": 20},
        {"stage": "questions", "db_id": "a", "arm": "formal", "requests": 90, "certified": 30},
        {"stage": "questions", "db_id": "b", "arm": "vague", "requests": 90, "certified": 3},
    ]
    shares: dict[str, dict[str, float]] = {}
    for row in shares_of(yields):
        shares.setdefault(row["arm"], {})[row["name"]] = row["share"]
    assert set(shares) == {"model", "prompt", "complexity", "style", "domain"}, "one kind of variation is no choice"
    for arm, better, worse in (
        ("model", "grammar", "llm"),
        ("complexity", "simple", "complex"),
        ("style", "formal", "vague"),
        ("domain", "a", "b"),
    ):
        assert shares[arm][better] > 0.5 > shares[arm][worse] >= 0.125
        assert sum(shares[arm].values()) == pytest.approx(1, abs=1e-3)
    assert shares["prompt"]["write_query"] == pytest.approx(0.5, abs=0.05), "45 of 200 and 20 of 100"
