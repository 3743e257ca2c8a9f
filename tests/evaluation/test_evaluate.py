"""`agro evaluate` from predictions to verdicts, figures and the page, on a small shop."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import duckdb
import pytest
from click.testing import CliRunner
from making import run_sqlite
from verify.verify_shop import CUSTOMERS, PURCHASES, TABLES

import agro_data
from agro_data.cli import data
from agro_data.config import ConfigError
from agro_data.databases.discovery.identity import is_own_name
from agro_data.evaluation.evaluate import evaluate
from agro_data.evaluation.instances import given
from agro_data.evaluation.loaded import Prediction
from agro_data.evaluation.report import render_report
from agro_data.evaluation.scoring import TOGETHER, ves
from agro_data.evaluation.sources import named_databases
from agro_data.evaluation.verdict import read_lines

NAMES = "SELECT name FROM customer WHERE city = 'Oslo'"
BOTH = "SELECT name, age FROM customer"
ORDERED = "SELECT name FROM customer WHERE age < 42 ORDER BY age, id"


def write_shop(path: Path, customers: list[tuple[object, ...]]) -> None:
    run_sqlite(path, TABLES.format(collate=""), {"customer": customers, "purchase": PURCHASES})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`db/shop` with all customers, and two instances of which one has a further customer in Oslo."""
    folder = tmp_path_factory.mktemp("evaluate")
    write_shop(folder / "db" / "shop" / "shop.sqlite", list(CUSTOMERS))
    write_shop(folder / "suite" / "shop" / "a.sqlite", list(CUSTOMERS))
    write_shop(folder / "suite" / "shop" / "b.sqlite", [*CUSTOMERS, (7, "Gus", "Oslo", 70, None)])
    return folder


def asked(gold: str, *predictions: str, db_id: str = "shop") -> Prediction:
    return Prediction("p.json, row 1", db_id, "Who?", gold, predictions)


@pytest.mark.parametrize(
    ("gold", "predicted", "kind", "says"),
    [
        (NAMES, "SELECT name FROM customer WHERE city <> 'Rome' AND city <> 'Bern'", "", ""),
        (NAMES, "SELECT name FROM customer WHERE city = 'Rome'", "wrong_rows", "expected 3 rows, got 2"),
        (NAMES, "SELECT name FROM customer WHERE city = 'Paris'", "empty", "no row came out, expected 3 rows"),
        (NAMES, "SELECT name, age FROM customer WHERE city = 'Oslo'", "columns", "expected 1 column, got 2"),
        (BOTH, "SELECT age, name FROM customer ORDER BY id DESC", "columns", "the same columns in another order: "),
        (BOTH, "SELECT age + 1, name FROM customer", "wrong_rows", "is missing"),
        (ORDERED, "SELECT name FROM customer WHERE age < 42 ORDER BY age DESC, id", "order", "row 1: expected ('Ed')"),
        (NAMES, "SELECT nam FROM customer", "schema", "no such column: nam"),
        (NAMES, "SELECT name FROM customers", "schema", "no such table"),
        (NAMES, "SELECT name FROM WHERE", "syntax", "syntax error"),
        (NAMES, "DELETE FROM customer", "refused", ""),
        (NAMES, "", "missing", "no prediction"),
        ("SELECT nope FROM customer", NAMES, "gold_failed", "the gold does not run"),
    ],
)
def test_error_classes_and_reasons(place: Path, gold: str, predicted: str, kind: str, says: str) -> None:
    found = evaluate([asked(gold, *([predicted] if predicted else []))], place / "db")
    (verdict,) = found.verdicts
    assert (verdict.error_class, verdict.score) == (kind, 0.0 if kind else 1.0)
    assert says in verdict.reason
    assert bool(found.problems) is (kind in ("gold_failed", "no_gold"))


def test_rows_where_none_are_expected_have_a_reason(place: Path) -> None:
    (verdict,) = evaluate([asked(f"{BOTH} WHERE city = 'Paris'", BOTH)], place / "db", metric="bird-ex").verdicts
    assert (verdict.error_class, verdict.reason[:19]) == ("wrong_rows", "expected no row, go")


def test_a_name_too_long_to_be_a_file_is_one_that_is_not_here(place: Path) -> None:
    rows = [Prediction("a", "shop", "", "SELECT 1", ("SELECT 1",)), Prediction("b", "x" * 300, "", "SELECT 1", ("",))]
    found = evaluate(rows, place)
    assert [verdict.error_class for verdict in found.verdicts] == ["", "no_database"]


def test_a_database_is_one_whatever_its_rows_call_it(tmp_path: Path) -> None:
    write_shop(tmp_path / "My Shop (new).sqlite", list(CUSTOMERS))
    rows = [asked(NAMES, NAMES, db_id=name) for name in ("My Shop (new)", "My_Shop_new", "my shop (new)")]
    found = evaluate(rows, tmp_path)
    assert found.summary["interval_drawing_databases"]["groups"] == 1


def test_a_name_in_the_data_leads_out_of_no_folder(place: Path) -> None:
    write_shop(place / "outside" / "outside.sqlite", list(CUSTOMERS))
    found, missing, _ = named_databases(place / "db", {"shop", "../outside"})
    assert (list(found), list(missing)) == (["shop"], ["../outside"])
    with pytest.raises(ConfigError, match="no files suite/<db_id>"):
        given(place / "suite", {"../outside": replace(found["shop"], db_id="store")}, [asked(BOTH, db_id="../outside")])
    assert not any(map(is_own_name, ("", ".", "..", "/", "a/b", "../a", "a/")))


def test_a_verdict_for_each_prediction_in_its_order(place: Path) -> None:
    rows = [asked(NAMES, NAMES), asked(NAMES, "SELECT 1", db_id="elsewhere"), asked(NAMES), asked(ORDERED, ORDERED)]
    found = evaluate(rows, place / "db")
    assert [v.score for v in found.verdicts] == [1, 0, 0, 1]
    assert [v.error_class for v in found.verdicts] == ["", "no_database", "missing", ""]
    assert [v.db_id for v in found.verdicts] == ["shop", "elsewhere", "shop", "shop"]
    assert found.summary["score"]["mean"] == 0.5


def test_a_lucky_prediction_is_told_apart_by_an_instance(place: Path) -> None:
    lucky = [asked(NAMES, "SELECT name FROM customer WHERE city = 'Oslo' AND age < 60")]
    assert evaluate(lucky, place / "db").verdicts[0].score == 1
    (verdict,) = evaluate(lucky, place / "db", metric="strict-ts", instances=place / "suite").verdicts
    assert (verdict.score, verdict.instance, verdict.instances) == (0, "shop/b.sqlite", 2)
    assert "expected ('Gus') is missing" in verdict.reason
    with_source = evaluate(lucky, place / "db", metric="strict-ts", instances=place / "suite", with_source=True)
    assert with_source.verdicts[0].instances == 3


def test_intent_takes_no_choice_among_answers(place: Path) -> None:
    count = "SELECT count(*) FROM customer WHERE city = 'Oslo'"
    every = "SELECT count(*), sum(age), min(age), max(age) FROM customer WHERE city = 'Oslo'"
    one = "SELECT city, count(*) FROM customer WHERE city = 'Oslo' GROUP BY city"
    constant = f"SELECT {', '.join(map(str, range(30)))}"
    rows = [asked(count, sql) for sql in (count, one, every, constant)]
    rows.append(asked("SELECT 3", "SELECT 3, 4"))
    found = evaluate(rows, place / "db", metric="intent-ts", instances=place / "suite")
    assert [verdict.error_class for verdict in found.verdicts] == ["", "", "columns", "constant", ""]


@pytest.mark.slow
def test_instances_are_built_once_where_none_are_given(place: Path, tmp_path: Path) -> None:
    lucky = [asked(NAMES, "SELECT name FROM customer WHERE city = 'Oslo' AND age < 42"), asked(NAMES, NAMES)]
    assert evaluate(lucky[:1], place / "db").verdicts[0].score == 1
    found = evaluate(lucky, place / "db", metric="strict-ts", cache=tmp_path, workers=1)
    assert [v.score for v in found.verdicts] == [0, 1], found
    assert found.verdicts[0].instances > 1
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "evaluation-instances").rglob("*")}
    again = evaluate(lucky, place / "db", metric="strict-ts", cache=tmp_path, workers=1)
    assert again.verdicts == found.verdicts
    assert files == {file: file.stat().st_mtime_ns for file in (tmp_path / "evaluation-instances").rglob("*")}


def test_several_attempts_pass_at_k_and_vote(place: Path) -> None:
    wrong = "SELECT name FROM customer WHERE city = 'Rome'"
    rows = [asked(NAMES, wrong, NAMES, NAMES + " AND 1"), asked(NAMES, wrong, "SELECT x", NAMES)]
    found = evaluate(rows, place / "db")
    assert [v.scores for v in found.verdicts] == [(0, 1, 1), (0, 0, 1)]
    assert [v.voted for v in found.verdicts] == [1, 0]  # of equal votes the earlier wins, failures do not vote
    attempts = found.summary["attempts"]
    assert attempts["pass_at"]["1"]["mean"] == 0.5
    assert attempts["pass_at"]["3"]["mean"] == 1.0
    assert attempts["majority"]["mean"] == 0.5


def test_a_leaf_of_a_tree_weighs_what_it_has_of_the_votes(place: Path) -> None:
    wrong = "SELECT name FROM customer WHERE city = 'Rome'"
    row = replace(asked(NAMES, NAMES, wrong, wrong), votes=(6, 1, 1))
    found = evaluate([row], place / "db")
    assert found.verdicts[0].voted == 0
    assert (found.summary["attempts"]["majority"]["mean"], found.summary["attempts"]["pass_at"]) == (1.0, {})
    assert evaluate([row], place / "db", self_check=True).verdicts[0].score == 1.0


def test_the_vote_minds_the_order_of_rows(place: Path) -> None:
    rows = [asked(ORDERED, "SELECT name FROM customer WHERE age < 42 ORDER BY age DESC", ORDERED, ORDERED + " LIMIT 9")]
    found = evaluate(rows, place / "db")
    assert [(v.scores, v.voted) for v in found.verdicts] == [((0, 1, 1), 1)]


@pytest.mark.parametrize(
    ("metric", "score"),
    [("strict", 1), ("strict-ts", 1), ("spider-ex", 1), ("bird-ex", 0), ("soft-f1", 0), ("r-ves", 0)],
)
def test_semicolons_at_the_end_are_judged_by_the_engine(place: Path, metric: str, score: int) -> None:
    """By sqlite3 itself under BIRD's metrics, whose scripts give it the text as it is."""
    rows = [asked(NAMES, f"{NAMES};;"), asked(NAMES, f"{NAMES} AND 1; ;\n"), asked(f"{NAMES};;", NAMES)]
    suite = place / "suite" if metric == "strict-ts" else None
    verdicts = evaluate(rows, place / "db", metric=metric, instances=suite).verdicts
    assert [verdict.score for verdict in verdicts] == [score] * 3
    assert [verdict.error_class for verdict in verdicts] == (
        [""] * 3 if score else ["refused", "refused", "gold_failed"]
    )


@pytest.mark.parametrize("metric", ["strict", "spider-ex", "spider-em", "bird-ex", "soft-f1", "r-ves"])
def test_gold_against_itself_is_right_and_what_cannot_be_is_listed(place: Path, metric: str) -> None:
    rows = [asked(NAMES, "x"), asked("SELECT name FROM customer ORDER BY age DESC LIMIT 1")]
    found = evaluate(rows, place / "db", metric=metric, self_check=True)
    assert all(v.score == 1 or (metric == "r-ves" and v.score > 0) for v in found.verdicts)
    assert not found.problems
    broken = evaluate([asked("SELECT nothing FROM customer")], place / "db", metric=metric, self_check=True)
    assert broken.verdicts[0].score == 0
    assert len(broken.problems) == 1


@pytest.mark.ci
def test_soft_f1_and_time_are_between_right_and_wrong(place: Path) -> None:
    half = [asked("SELECT name, age FROM customer", "SELECT name, id FROM customer")]
    assert 0 < evaluate(half, place / "db", metric="soft-f1").verdicts[0].score < 1
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT count(*) FROM n"
    slow = f"{NAMES} AND ({numbers}) > 1"  # a gold of 20 microseconds would have to stall for a second in all
    (verdict,) = evaluate([asked(NAMES, slow)], place / "db", metric="r-ves").verdicts
    assert 0 < verdict.score < 1
    assert "times the prediction's" in verdict.reason


@pytest.mark.ci
def test_soft_f1_holds_the_rows_of_a_few_at_a_time(place: Path) -> None:
    most, count = 4_000, "WITH RECURSIVE n(i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT i FROM n"
    rows = [asked(count.format(k, most), count.format(k, most // 2)) for k in range(4 * TOGETHER)]
    tracemalloc.start()
    try:
        verdicts = evaluate(rows, place / "db", metric="soft-f1").verdicts
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len({v.score for v in verdicts}) == 1
    assert held / (len(rows) * most * 1.5) < 50  # bytes; one fetched takes 90


@pytest.mark.parametrize(
    ("ratio", "reward"),
    [(2.5, 1.25), (2.0, 1.25), (1.9, 1.0), (1.0, 1.0), (0.9, 0.75), (0.5, 0.75), (0.4, 0.5), (0.25, 0.5), (0.0, 0.25)],
)
def test_the_reward_for_a_ratio_of_times_is_birds(ratio: float, reward: float) -> None:
    assert ves([ratio] * 10) == pytest.approx((ratio, reward**0.5))
    assert ves([ratio] * 99 + [1e6]) == pytest.approx((ratio, reward**0.5))  # a stall is left out


def test_attempts_without_an_answer_are_attempts(place: Path, tmp_path: Path) -> None:
    attempts = ["", NAMES, None, "SELECT nam FROM customer"]
    (tmp_path / "p.json").write_text(json.dumps([{"db_id": "shop", "question": "?", "gold": NAMES, "pred": attempts}]))
    found = evaluate(tmp_path / "p.json", place / "db")
    (verdict,) = found.verdicts
    assert (verdict.score, verdict.error_class, verdict.scores, verdict.voted) == (0, "missing", (0, 1, 0, 0), 1)
    assert found.summary["attempts"]["pass_at"]["1"]["mean"] == 0.25


REPLIES = [
    NAMES,
    f"```sql\n{NAMES}\n```",
    f"Here it is:\n```sql\n{NAMES};\n```\nIt names customers.",
    f"<think>\nNames of customers. SELECT what?\n</think>\n\n{NAMES}",
    f"The question wants names.\nSELECT which?\n</think>\n{NAMES}",
    f"<think>Names of customers.</think>\n<solution>{NAMES}</solution>",
    f"<think>{'Names of customers. ' * 1_000}</think>\n<solution>\n{NAMES}\n</solution>",
    f"Names of customers.\n</think>\nHere it is:\n<solution>{NAMES}",
    f"<think>Names.</think>\n<solution>\n```sql\n{NAMES}\n```\n</solution>",
    "<think>Is there one?</think>\n<sql>\nSELECT 7\n</sql>\n<observation>\n7\n</observation>\n"
    f"<think>Yes.</think>\n<solution>\n{NAMES}\n</solution>",
]


def test_predictions_that_are_replies_are_told(place: Path) -> None:
    found = evaluate([asked(NAMES, reply) for reply in REPLIES], place / "db")
    assert [verdict.score for verdict in found.verdicts] == [1, *[0] * 9]
    note, _ = found.notes
    assert note.startswith("9 of 10 questions have predictions with code fences, thoughts or tags")
    assert "`agro evaluate --replies`" in note  # `agro predict` tells it, too


def test_the_sql_of_replies_is_scored_if_one_says_that_they_are(place: Path) -> None:
    nothing = [
        f"<think>\nPerhaps\n{NAMES}\nor",
        "I do not know.",
        "<think>Which?</think>\n<clarify>Which customers?</clarify>",
        f"<think>{'Look. ' * 2_000}</think>\n<sql>\n{NAMES}\n</sql>",
        "",
    ]
    found = evaluate([asked(NAMES, reply) for reply in [*REPLIES, *nothing]], place / "db", replies=True)
    assert [verdict.score for verdict in found.verdicts] == [1] * 10 + [0] * 5
    assert [verdict.pred for verdict in found.verdicts] == [NAMES] * 10 + [""] * 5
    assert {verdict.error_class for verdict in found.verdicts[10:]} == {"missing"}
    assert found.notes[0] == "5 of 15 questions have no prediction; they score 0"


def test_rows_that_a_program_holds_are_scored_as_those_of_a_file(place: Path, tmp_path: Path) -> None:
    rows = [
        {"db_id": "shop", "question": "Who?", "gold": NAMES, "pred": [NAMES, BOTH]},
        {"db_id": "shop", "question": "All?", "gold": BOTH, "pred": None},
    ]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    (tmp_path / "gold.json").write_text(json.dumps([{**row, "query": row["gold"]} for row in rows]))
    held, of_file = evaluate(rows, place / "db"), evaluate(tmp_path / "p.json", place / "db")
    assert held.summary == of_file.summary
    assert [verdict.place for verdict in held.verdicts] == ["row 1", "row 2"]
    with_gold = evaluate([{"pred": NAMES}, {"pred": BOTH}], place / "db", gold=tmp_path / "gold.json")
    assert [verdict.score for verdict in with_gold.verdicts] == [1, 1]
    with pytest.raises(ConfigError, match="found int"):
        evaluate(cast("list[dict[str, str]]", [3]), place / "db")
    with pytest.raises(ConfigError, match="each Prediction has its own"):
        evaluate([asked(NAMES, NAMES)], place / "db", gold=tmp_path / "gold.json")


@pytest.mark.parametrize("broken", ["SELECT '\ud83d'", "SELECT 1\0", "SELECT '\u2028'", "(" * 5_000])
def test_no_text_of_a_model_costs_the_other_verdicts(broken: str, place: Path, tmp_path: Path) -> None:
    rows = [
        {"db_id": "shop", "question": "Who\udc00?", "gold": NAMES, "pred": [broken, NAMES]},
        {"db_id": "shop", "question": "Who?", "gold": NAMES, "pred": NAMES},
    ]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    verb = ["evaluate", "--predictions", tmp_path / "p.json", "--databases", place / "db"]
    verb += ["--output", tmp_path / "v.jsonl", "--html", tmp_path / "v.html"]
    done = CliRunner().invoke(data, list(map(str, verb)))
    assert done.exit_code == 0, done.output
    first, second = read_lines((tmp_path / "v.jsonl").read_text(encoding="utf-8"))
    assert (first.score, first.scores, second.score) == (0, (0, 1), 1)


def test_what_cannot_start_says_why(place: Path) -> None:
    with pytest.raises(ConfigError, match="no metric"):
        evaluate([asked(NAMES, NAMES)], place / "db", metric="bleu")
    with pytest.raises(ConfigError, match="none of the databases of the predictions is here: x"):
        evaluate([asked(NAMES, NAMES, db_id="x")], place / "db")
    with pytest.raises(ConfigError, match=r"--instances is for .*strict-ts, intent-ts, spider-ts"):
        evaluate([asked(NAMES, NAMES)], place / "db", instances=place / "suite")
    with pytest.raises(ConfigError, match="no such folder"):
        evaluate([asked(NAMES, NAMES)], place / "db", metric="strict-ts", instances=place / "nowhere")


def test_the_verb_writes_verdicts_and_a_page_and_leaves_with_a_status(place: Path, tmp_path: Path) -> None:
    rows = [
        {"db_id": "shop", "gold": NAMES, "pred": NAMES},
        {"db_id": "shop", "gold": NAMES, "pred": "SELECT </script>"},
    ]
    file = tmp_path / "pred.json"
    file.write_text(json.dumps(rows))
    arguments = ["evaluate", "--predictions", str(file), "--databases", str(place / "db")]
    outputs = ["--output", str(tmp_path / "v.jsonl"), "--html", str(tmp_path / "v.html"), "--json"]
    done = CliRunner().invoke(data, [*arguments, *outputs], standalone_mode=False)
    assert done.exception is None, done.output
    assert json.loads(done.stdout)["score"]["mean"] == 0.5
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [(line["db_id"], line["score"], line["error_class"]) for line in lines] == [
        ("shop", 1, ""),
        ("shop", 0, "syntax"),
    ]
    page = (tmp_path / "v.html").read_text()
    assert "50.0 %" in page
    assert not any(word in page for word in ("http://", "https://", "src="))
    short = CliRunner().invoke(data, [*arguments, "--fail-under", "0.9"])
    assert short.exit_code == 1


def test_the_api_loads_no_model_library(place: Path) -> None:
    code = (
        "import sys, agro_data; agro_data.evaluate; "
        "print([m for m in ('torch', 'transformers', 'matplotlib', 'faiss') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert agro_data.evaluate is evaluate


def test_the_page_holds_what_was_not_graded(place: Path) -> None:
    page = render_report(evaluate([asked("SELECT nope FROM customer", NAMES)], place / "db"), "<b>")
    assert "the gold does not run" in page
    assert "&lt;b&gt;" in page


def test_predictions_without_any_gold_cannot_be_scored(place: Path) -> None:
    with pytest.raises(ConfigError, match="give the golds with --gold FILE"):
        evaluate([asked("", NAMES)], place / "db")
    found = evaluate([asked(NAMES, NAMES), asked("", NAMES)], place / "db")
    assert [verdict.error_class for verdict in found.verdicts] == ["", "no_gold"]
    assert found.problems == ("p.json, row 1 (shop): no gold to compare with",)


def test_questions_without_a_prediction_are_counted_in_a_note(place: Path) -> None:
    found = evaluate([asked(NAMES, NAMES), asked(NAMES)], place / "db")
    assert found.notes[0] == "1 of 2 questions have no prediction; they score 0"


def test_what_stands_for_predictions_is_told(place: Path, tmp_path: Path) -> None:
    """Golds given as predictions are all right, and a person should see why."""
    rows = [{"db_id": "shop", "question": f"Who {n}?", "query": gold} for n, gold in enumerate((NAMES, ORDERED))]
    (tmp_path / "dev.json").write_text(json.dumps(rows))
    found = evaluate(tmp_path / "dev.json", place / "db", gold=tmp_path / "dev.json")
    assert found.notes[:2] == (
        "predictions are read from `query`: no row has `pred` or `preds` or `prediction` or `predictions`",
        "each prediction is its gold, letter by letter: is it the file of golds that was given?",
    )
    (tmp_path / "pred.sql").write_text(f"{NAMES}\n{NAMES}\n")
    lines = evaluate(tmp_path / "pred.sql", place / "db", gold=tmp_path / "dev.json")
    assert not any("read from" in note or "letter" in note for note in lines.notes)


def test_a_self_check_says_what_it_does_not_check(place: Path) -> None:
    found = evaluate([asked("SELECT name FROM customer WHERE city = 'Paris'")], place / "db", self_check=True)
    assert (found.summary["score"]["mean"], found.problems) == (1, ())
    assert "`agro verify` finds those golds" in found.notes[0]
    assert found.notes[0] in render_report(found, "p.json")


def test_of_one_database_no_interval_is_told_and_why_is_said_once(place: Path) -> None:
    found = evaluate([asked(NAMES, NAMES), asked(ORDERED, NAMES)], place / "db")
    assert found.notes == ("all predictions are of one database: what drawing others would give cannot be told",)
    assert found.summary["interval_drawing_databases"]["low"] is None
    assert '<td class="n soft">-</td>' in render_report(found, "p.json")


def test_any_accepted_gold_makes_a_prediction_right(place: Path) -> None:
    ids = "SELECT id FROM customer WHERE city = 'Oslo'"
    rows = [
        {"db_id": "shop", "gold": [NAMES, ids, "SELECT nane FROM customer"], "pred": predicted}
        for predicted in (NAMES, ids, BOTH, [BOTH, ids])
    ]
    verdicts = evaluate(rows, place / "db", workers=1).verdicts
    assert [one.score for one in verdicts] == [1, 1, 0, 0]
    assert verdicts[2].reason.startswith("expected 1 columns") or verdicts[2].error_class == "columns"
    assert verdicts[3].scores == (0, 1)
    suite = evaluate(rows[:3], place / "db", metric="strict-ts", instances=place / "suite", workers=1).verdicts
    assert [one.score for one in suite] == [1, 1, 0]
    official = evaluate(rows[:3], place / "db", metric="spider-ex", workers=1).verdicts
    assert [one.score for one in official] == [1, 0, 0]  # its script knows one gold


def test_a_gold_that_fails_leaves_the_others(place: Path) -> None:
    rows = [{"db_id": "shop", "gold": ["SELECT nane FROM customer", NAMES], "pred": pred} for pred in (NAMES, BOTH)]
    found = evaluate(rows, place / "db", workers=1)
    assert [(one.score, one.error_class) for one in found.verdicts] == [(1, ""), (0, "columns")]


def test_rows_without_a_database_are_scored_on_the_one_that_is_given(place: Path, tmp_path: Path) -> None:
    rows = [{"gold": NAMES, "pred": NAMES}, {"gold": NAMES, "pred": BOTH}]
    one = place / "db" / "shop" / "shop.sqlite"
    assert [verdict.score for verdict in evaluate(rows, one, workers=1).verdicts] == [1, 0]
    (tmp_path / "gold.json").write_text(json.dumps([{"question": "Who?", "query": NAMES}]))
    (tmp_path / "pred.sql").write_text(f"{NAMES}\n")
    scored = evaluate(tmp_path / "pred.sql", one, gold=tmp_path / "gold.json", workers=1)
    assert [(verdict.db_id, verdict.score) for verdict in scored.verdicts] == [("shop", 1)]


@pytest.mark.parametrize(
    ("engine", "reaching"),
    [
        (
            "sqlite",
            ["SELECT name FROM sqlite_master", "VACUUM INTO 'copy.db'", "PRAGMA table_info(t)", "DELETE FROM t"],
        ),
        (
            "duckdb",
            ["SELECT * FROM read_text('/etc/hostname')", "SELECT getenv('HOME')", "SHOW TABLES", "DELETE FROM t"],
        ),
    ],
)
def test_what_reaches_beyond_the_data_is_refused_on_either_engine(
    tmp_path: Path, engine: str, reaching: list[str]
) -> None:
    connect = sqlite3.connect if engine == "sqlite" else duckdb.connect
    with closing(connect(tmp_path / f"a.{engine}")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'Ada' AS name")
        connection.commit()
    rows = [{"db_id": "a", "gold": "SELECT name FROM t", "pred": sql} for sql in reaching]
    verdicts = evaluate(rows, next(tmp_path.iterdir())).verdicts
    assert {one.pred: one.error_class for one in verdicts} == dict.fromkeys(reaching, "refused")
