from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from agro_data.diversity.duplicates import cap_skeletons, drop_exact, drop_same_questions
from agro_data.diversity.normal_forms import normal_question
from agro_data.diversity.styles import assign_styles
from agro_data.records import REJECTED

Make = Callable[..., pl.DataFrame]


def test_the_most_plausible_of_equal_sql_stays(questions: Make) -> None:
    frame = questions(20, 2)
    copies = frame.with_columns(
        candidate_id=pl.lit("copy ") + pl.col("candidate_id"), plausibility=pl.col("plausibility") + 1
    )
    kept, rejected = drop_exact(pl.concat([frame, copies]))
    assert sorted(kept["candidate_id"]) == sorted(copies["candidate_id"])
    assert rejected.schema == REJECTED
    assert set(rejected["reason"]) == {"duplicate_sql"}
    assert rejected["detail"][0] == f"the same SQL as candidate copy {rejected['candidate_id'][0]}"


def test_the_same_sql_in_two_databases_or_with_another_literal_is_no_duplicate(questions: Make) -> None:
    frame = questions(1, 1)
    elsewhere = frame.with_columns(candidate_id=pl.lit("b"), db_id=pl.lit("other"))
    other_value = frame.with_columns(candidate_id=pl.lit("c"), sql=pl.lit("SELECT 1 FROM table_0 WHERE x = 'zzz'"))
    assert drop_exact(pl.concat([frame, elsewhere, other_value])).rejected.is_empty()


def test_one_question_with_two_readings_keeps_none_and_with_one_result_keeps_one(questions: Make) -> None:
    frame = questions(4, 1).with_columns(
        question=pl.Series(["How many singers?", "how many  singers", "List all.", "List all!"]),
        result_digest=pl.Series(["a", "b", "c", "c"]),
        plausibility=pl.Series([1.0, 0.5, 0.2, 0.9]),
    )
    kept, rejected = drop_same_questions(frame)
    assert kept["candidate_id"].to_list() == [frame["candidate_id"][3]]
    assert sorted(rejected["reason"]) == ["ambiguous_question", "ambiguous_question", "same_question"]


@pytest.mark.parametrize(
    "asked",
    [
        ['Who has grade "A+"?', 'Who has grade "A-"?', 'Who has grade "A"?'],
        ["Flights with a delay above -5.", "Flights with a delay above 5."],
        ["Flights with a change of -0.5.", "Flights with a change of -.5.", "Flights with a change of 0.5."],
        ["Books in C++, please", "Books in C#, please", "Books in C, please"],
    ],
)
def test_signs_that_belong_to_a_value_tell_questions_apart(asked: list[str]) -> None:
    assert len({normal_question(question) for question in asked}) == len(asked)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("full-time staff - by city", "Full time staff, by city!"),
        ("mid- and long-term plans", "mid and long term plans"),
        ("sales of 2020-01-05", "sales of 2020 01 05"),
        ("phone (555)-1234 -- whose", "phone (555) 1234: whose"),
        ("staff whose a+b is -x", "staff whose a b is x"),
    ],
)
def test_other_signs_tell_no_questions_apart(one: str, other: str) -> None:
    assert normal_question(one) == normal_question(other)


def test_a_skeleton_is_capped_by_plausibility_whatever_the_order(questions: Make) -> None:
    frame = questions(200, 2).with_columns(skeleton=pl.lit("SELECT ?"))
    kept, rejected = cap_skeletons(frame, 7, seed=1)
    assert kept.group_by("db_id").len()["len"].to_list() == [7, 7]
    assert set(rejected["reason"]) == {"skeleton_cap"}
    for db_id in ("db_000", "db_001"):
        best = frame.filter(pl.col("db_id") == db_id)["plausibility"].sort(descending=True)[6]
        assert kept.filter(pl.col("db_id") == db_id)["plausibility"].min() == best
    assert cap_skeletons(frame.reverse(), 7, seed=1).kept.equals(kept)
    with pytest.raises(ValueError, match="1 or more"):
        cap_skeletons(frame, 0, seed=1)


def test_duplicates_work_before_there_are_questions(questions: Make) -> None:
    frame = questions(30, 1).drop("question", "style", "result_digest")
    kept, rejected = cap_skeletons(drop_exact(frame).kept, 1, seed=0)
    assert kept["skeleton"].is_unique().all()
    assert set(rejected["question"]) <= {""}


def test_styles_are_balanced_in_each_database_and_shape(questions: Make) -> None:
    styles = ["formal", "concise", "imperative"]
    styled = assign_styles(questions(500, 3), styles, seed=4)
    for keys in (["db_id"], ["db_id", "shape"]):
        counts = styled.group_by([*keys, "style"]).len().group_by(keys).agg(pl.col("len").max() - pl.col("len").min())
        assert counts["len"].max() <= 1
    assert styled.equals(assign_styles(questions(500, 3).reverse(), styles, seed=4))
    assert styled["style"].to_list() != assign_styles(questions(500, 3), styles, seed=5)["style"].to_list()


def test_two_rows_of_one_identity_are_an_error_that_names_them(questions: Make) -> None:
    frame = questions(2, 1)
    with pytest.raises(ValueError, match=r"0000000000000000.*db_000"):
        drop_exact(pl.concat([frame, frame]))
