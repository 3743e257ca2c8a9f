"""What becomes of a pair: agreed on, mended, kept as hard, or rejected with its reason; and what is logged of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from alignment.aligning import CITIES, FROM_41, NOT_30, OLD, OLDER, SANDBOX, example, says

from agro_data.alignment.agreement import vote
from agro_data.alignment.cycles import Rule, acceptance, check, log_of
from agro_data.alignment.judge import Dispute, Judgement
from agro_data.config import ConfigError
from agro_data.prompts.judge import Blame, Ruling
from agro_data.verify.golds import GoldResults


def rules(verdict: Blame, sql: str = "") -> object:
    """A judge who always says the same."""

    def judge(disputes: Sequence[Dispute], cycle: int) -> list[Judgement]:
        return [Judgement(Ruling(verdict, "seen", sql)) for _ in disputes]

    return judge


# --- agreement ----------------------------------------------------------------------------------------------------


def test_agreement_is_on_all_instances(tmp_path: Path) -> None:
    answers = [OLD, FROM_41, NOT_30, "", "SELECT nonsense", "SELECT name FROM customer WHERE id IN (2, 4, 6)"]
    [ballot] = vote([example(tmp_path)], [answers], SANDBOX, GoldResults())
    assert [grade.right for grade in ballot.grades] == [True, True, False, False, False, False]
    assert (ballot.votes, ballot.asked, ballot.score) == (2, 6, 1 / 3)
    assert sorted(group.sql for group in ballot.others) == sorted([NOT_30, answers[-1]])


def test_columns_may_change_places_and_be_no_others(tmp_path: Path) -> None:
    gold = "SELECT name, age FROM customer"
    answers = ["SELECT age, name FROM customer", "SELECT name, age, city FROM customer", "SELECT name FROM customer"]
    [ballot] = vote([example(tmp_path, gold)], [answers], SANDBOX, GoldResults())
    assert [grade.right for grade in ballot.grades] == [True, False, False]
    assert ballot.grades[1].error_class == "columns"
    other = example(tmp_path, gold, alternatives=("SELECT name, age, city FROM customer",))
    [ballot] = vote([other], [answers], SANDBOX, GoldResults())
    assert [grade.right for grade in ballot.grades] == [True, True, False]


# --- fates --------------------------------------------------------------------------------------------------------


def test_who_agrees_verifies(tmp_path: Path) -> None:
    [one] = check([example(tmp_path)], [says([OLD, OLDER]), says([FROM_41])], Rule(need=2), SANDBOX)
    assert (one.fate, one.score, one.changed, one.reason) == ("verified", 2 / 3, False, "")
    assert len(one.history) == 1


def test_a_gold_is_outvoted_and_confirmed(tmp_path: Path) -> None:
    [one] = check([example(tmp_path, OLDER)], [says([OLD, FROM_41, CITIES])], Rule(need=2), SANDBOX)
    assert one.fate == "verified"
    assert one.changed
    assert one.example.sql == OLD
    first, second = one.history
    assert first.judgement is not None
    assert first.judgement.verdict == "gold_wrong"
    assert (first.made_anew, first.ballot.votes, second.ballot.votes) == ("sql", 0, 2)


def test_in_the_last_cycle_nothing_is_made_anew(tmp_path: Path) -> None:
    [one] = check([example(tmp_path, OLDER)], [says([OLD, OLD])], Rule(need=2, cycles=1), SANDBOX)
    assert (one.fate, one.reason, one.example.sql) == ("rejected", "gold_wrong", OLDER)


def test_a_majority_that_the_next_cycle_does_not_confirm_counts_for_nothing(tmp_path: Path) -> None:
    before = example(tmp_path, ordered=False, meaning="those over 40")
    [one] = check([before], [says([OLDER, OLDER], [OLD, OLD])], Rule(need=2), SANDBOX)
    assert (one.fate, one.example.sql, one.changed) == ("verified", OLD, False)
    assert [cycle.made_anew for cycle in one.history] == ["sql", "sql", ""]
    assert acceptance([one])["verified_later"].to_list() == [1]


def test_sql_that_chance_decides_replaces_no_gold(tmp_path: Path) -> None:
    tied = "SELECT name FROM customer ORDER BY city DESC LIMIT 1"
    [one] = check([example(tmp_path)], [says([tied, tied])], Rule(need=2), SANDBOX)
    assert (one.fate, one.reason, one.example.sql) == ("rejected", "gold_wrong", OLD)


def test_without_a_majority_it_stays_unsettled(tmp_path: Path) -> None:
    [one] = check([example(tmp_path)], [says([OLDER, CITIES, ""])], Rule(need=2), SANDBOX)
    assert (one.fate, one.reason, len(one.history)) == ("rejected", "unsettled", 3)
    assert "0 of 3 answers agree after 3 cycles" in one.detail


def test_hard_examples_are_kept(tmp_path: Path) -> None:
    [one] = check(
        [example(tmp_path)],
        [says([OLDER, OLDER])],
        Rule(need=2),
        SANDBOX,
        judge=rules("predictor_wrong"),  # type: ignore[arg-type]
    )
    assert (one.fate, one.changed, one.score, len(one.history)) == ("judged", False, 0.0, 1)


def test_what_a_judge_proposes_is_not_kept_on_the_judge_s_word(tmp_path: Path) -> None:
    def judge(disputes: Sequence[Dispute], cycle: int) -> list[Judgement]:
        rulings = [Ruling("gold_wrong", "cities are meant", CITIES), Ruling("predictor_wrong", "cities it is")]
        return [Judgement(rulings[min(cycle, 2) - 1]) for _ in disputes]

    [one] = check([example(tmp_path)], [says([OLDER, NOT_30])], Rule(need=2), SANDBOX, judge=judge)
    assert one.example.sql == CITIES
    assert (one.fate, one.reason, len(one.history)) == ("rejected", "gold_wrong", 3)
    assert check([example(tmp_path)], [says([CITIES])], Rule(need=1), SANDBOX, judge=judge)[0].fate == "verified"


def test_what_the_database_lacks_cannot_be_made_anew(tmp_path: Path) -> None:
    [one] = check(
        [example(tmp_path)],
        [says([OLDER])],
        Rule(need=1),
        SANDBOX,
        judge=rules("database_insufficient"),  # type: ignore[arg-type]
    )
    assert (one.fate, one.reason, len(one.history)) == ("rejected", "database_insufficient", 1)


def test_nobody_independent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no solver"):
        check([example(tmp_path)], [], Rule(need=1), SANDBOX)
    with pytest.raises(ConfigError, match="at least 1"):
        Rule(need=0)


# --- the log ------------------------------------------------------------------------------------------------------


def test_acceptance_by_hardness_and_the_log(tmp_path: Path) -> None:
    rows = [
        example(tmp_path, example_id="a", hardness="easy"),
        example(tmp_path, OLDER, example_id="b", hardness="extra"),
        example(tmp_path, CITIES, example_id="c", hardness="hard"),
    ]
    by_id = {"a": [OLD, OLD], "b": [OLD, OLD], "c": [OLDER, NOT_30]}
    solver = says([])
    solver = type(solver)("own", lambda examples, cycle: [by_id[one.example_id] for one in examples])
    outcomes = check(rows, [solver], Rule(need=2, cycles=2), SANDBOX)
    found = {row["hardness"]: row for row in acceptance(outcomes).to_dicts()}
    assert list(found) == ["easy", "hard", "extra"]
    assert (found["easy"]["verified_at_once"], found["extra"]["mended"], found["hard"]["rejected"]) == (1, 1, 1)
    assert [found[name]["kept"] for name in found] == [1.0, 0.0, 1.0]
    log = log_of(outcomes)
    assert log.select("example_id", "cycle", "verdict", "made_anew").rows() == [
        ("a", 1, "agreed", ""),
        ("b", 1, "gold_wrong", "sql"),
        ("b", 2, "agreed", ""),
        ("c", 1, "", ""),
        ("c", 2, "", ""),
    ]
