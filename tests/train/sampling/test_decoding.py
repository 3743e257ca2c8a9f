"""Greedy, vote and tree on a real engine, with a model that says what a script says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import make_school
from train.scripted import LIMITS, Scripted, one_database, turn

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database
from agro_data.profiling.profiler import profile_database
from agro_train.agents.endpoint import Characters
from agro_train.decoding import GREEDY, Decoded, Decoding, decode, decoding_named, even
from agro_train.rollouts import Policy
from agro_train.sampling.types import Sampled, Usage
from agro_train.tasks import Task

FOUNDED = "SELECT name FROM school WHERE founded > 1921"
END = 1  # the token that ends a prompt


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return one_database(make_school(tmp_path_factory.mktemp("decoding") / "school.sqlite"))


def task(database: Database, number: int = 0) -> Task:
    return Task(f"{number:016x}", f"prompt {number}\n", "Which?", FOUNDED, database)


def work(database: Database, sandbox: Sandbox, sampler: Scripted, decoding: Decoding, count: int = 1) -> list[Decoded]:
    tasks = [task(database, number) for number in range(count)]
    return decode(tasks, Policy(sampler, Characters(), LIMITS), sandbox, decoding)


@given(st.integers(1, 64), st.integers(1, 9))
def test_parts_are_even(number: int, parts: int) -> None:
    found = even(number, parts)
    assert (sum(found), len(found)) == (number, parts)
    assert max(found) - min(found) <= 1
    assert found == sorted(found, reverse=True)


def test_greedy_takes_one_answer(database: Database, sandbox: Sandbox) -> None:
    def say(text: str, number: int, seed: int) -> str:
        return turn("solution", FOUNDED) if "<observation>" in text else turn("sql", "SELECT COUNT(*) FROM school")

    sampler = Scripted(say)
    found = work(database, sandbox, sampler, GREEDY, count=2)
    assert [one.answer for one in found] == [FOUNDED, FOUNDED]
    assert [len(one.leaves) for one in found] == [1, 1]
    assert [len(call) for call in sampler.calls] == [2, 2]
    prompt, first = len("prompt 0\n"), len(turn("sql", "SELECT COUNT(*) FROM school"))
    second = len(sampler.calls[1][0])
    assert found[0].read == (prompt + END) + (second + END)
    assert found[0].written == first + len(turn("solution", FOUNDED))


class Serving(Scripted):
    """Counts tokens as a server does, and takes a second longer for each further attempt."""

    def __call__(self, *given: Any, **asked: Any) -> list[Sampled]:
        turns = super().__call__(*given, **asked)
        return [replace(one, usage=Usage(1, 1, 2.0 + place)) for place, one in enumerate(turns)]


def test_who_asks_a_server_waits_for_the_longest_attempt_of_each_turn(database: Database, sandbox: Sandbox) -> None:
    def say(text: str, number: int, seed: int) -> str:
        return turn("solution", FOUNDED) if "<observation>" in text else turn("sql", "SELECT COUNT(*) FROM school")

    [found] = work(database, sandbox, Serving(say), Decoding("vote", 3, 1.0))
    assert found.latency == 4.0 + 4.0
    first, second = work(database, sandbox, Serving(say), GREEDY, count=2)
    assert (first.latency, second.latency) == (4.0, 6.0)
    [here] = work(database, sandbox, Scripted(say), GREEDY)
    assert here.latency == 0.0


def test_the_largest_group_of_results_wins_however_it_is_written(database: Database, sandbox: Sandbox) -> None:
    answers = ["SELECT 1", "SELECT ghost FROM school", "SELECT ghost FROM school", "nonsense", FOUNDED]
    answers += ["SELECT name FROM school WHERE 1921 < founded", "SELECT ghost FROM school", "SELECT city FROM school"]

    def say(text: str, number: int, seed: int) -> str:
        return "no tags" if answers[number] == "nonsense" else turn("solution", answers[number])

    [found] = work(database, sandbox, Scripted(say), Decoding("vote", 8, 1.0))
    assert found.answer == FOUNDED  # two of eight agree; three fail alike
    assert len(found.leaves) == 8
    assert sorted(leaf.rollout.env.solution for leaf in found.leaves) == sorted(
        "" if sql == "nonsense" else sql for sql in answers
    )


def test_among_the_same_rows_the_order_of_most_wins(database: Database, sandbox: Sandbox) -> None:
    names = "SELECT name FROM school"
    answers = [names, f"{names} ORDER BY name DESC", "SELECT 1", f"{names} ORDER BY 1 DESC", "SELECT 1"]

    def say(text: str, number: int, seed: int) -> str:
        return turn("solution", answers[number])

    [found] = work(database, sandbox, Scripted(say), Decoding("vote", 5, 1.0))
    assert found.answer == answers[1]
    assert sorted(leaf.rollout.env.solution for leaf in found.leaves) == sorted(answers)


def test_of_equal_groups_the_first_wins_and_what_fails_comes_before_nothing(
    database: Database, sandbox: Sandbox
) -> None:
    for answers, wanted in (
        (["SELECT 1", "SELECT 2"], "SELECT 1"),
        (["", "SELECT ghost FROM school"], "SELECT ghost FROM school"),
        (["SELECT ghost FROM school", "SELECT 2"], "SELECT 2"),
        (["", ""], ""),
    ):

        def say(text: str, number: int, seed: int, answers: list[str] = answers) -> str:
            return turn("solution", answers[number]) if answers[number] else "no tags"

        [found] = work(database, sandbox, Scripted(say), Decoding("vote", 2, 1.0))
        assert found.answer == wanted


def test_of_equal_groups_the_one_with_the_likeliest_answer_wins(database: Database, sandbox: Sandbox) -> None:
    answers = ["SELECT 1", "SELECT 2", "SELECT 1", "SELECT 1 + 1", "SELECT 3"]
    chances = {
        turn("solution", sql): chance for sql, chance in zip(answers, [-0.9, -0.5, -0.9, -0.8, -0.1], strict=True)
    }

    def say(text: str, number: int, seed: int) -> str:
        return turn("solution", answers[number])

    [found] = work(database, sandbox, Scripted(say, chances.__getitem__), Decoding("vote", 5, 1.0))
    assert found.answer == "SELECT 2"  # as many votes as SELECT 1; SELECT 3 is likelier, and alone


def test_the_first_continuation_of_a_trees_branch_is_the_likeliest(database: Database, sandbox: Sandbox) -> None:
    asked: dict[str, list[int]] = {}

    def say(text: str, number: int, seed: int) -> str:
        asked.setdefault(text, []).append(seed)
        return turn("solution", FOUNDED) if "<observation>" in text else turn("sql", f"SELECT {number}")

    work(database, sandbox, Scripted(say), Decoding("tree", 6, 1.0, width=3))
    assert [len(seeds) for seeds in asked.values()] == [3, 2, 2, 2]
    for first, *others in asked.values():
        assert first == 0
        assert all(others)
    asked.clear()
    work(database, sandbox, Scripted(say), Decoding("vote", 6, 1.0))
    assert all(all(seeds) for seeds in asked.values())  # equal draws, of which pass@k can be told


@pytest.mark.parametrize(("back", "wanted"), [(3, ""), (1, "SELECT 1")])
def test_asking_back_is_voted_for_like_a_result(database: Database, sandbox: Sandbox, back: int, wanted: str) -> None:
    def say(text: str, number: int, seed: int) -> str:
        return turn("clarify", f"Which of {number}?") if number < back else turn("solution", "SELECT 1")

    [found] = work(database, sandbox, Scripted(say), Decoding("vote", 4, 1.0))
    assert found.answer == wanted
    assert (found.leaves[0].rollout.env.outcome == "clarified") == (not wanted)


def test_a_tree_shares_prefixes_and_merges_alike_branches(database: Database, sandbox: Sandbox) -> None:
    """Two of three looks see the same; from there two answers each."""
    looks = ["SELECT name FROM school", 'select "name" from school', "SELECT city FROM school"]

    def say(text: str, number: int, seed: int) -> str:
        if "<observation>" not in text:
            return turn("sql", looks[number])
        return turn("solution", FOUNDED if "city\n" not in text else "SELECT city FROM school")

    sampler = Scripted(say)
    [found] = work(database, sandbox, sampler, Decoding("tree", 9, 1.0, width=3))
    assert [len(call) for call in sampler.calls] == [3, 6]  # 9 leaves at most; here two branches of three
    assert sum(leaf.votes for leaf in found.leaves) == 9
    assert sum(leaf.votes for leaf in found.leaves if leaf.rollout.env.solution == FOUNDED) == 6
    assert found.answer == FOUNDED
    assert all(leaf.rollout.env.steps[0].turn.text in looks for leaf in found.leaves)
    assert len(set(sampler.calls[1])) == 2
    assert found.read == sum(len(text) + END for text in {*sampler.calls[0], *sampler.calls[1]})


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        (["SELECT 1", "SELECT 1"], [2]),
        (["SELECT 1", "SELECT ghost FROM school"], [2]),  # what fails is ahead of nothing
        (["SELECT 1", "SELECT 2"], [2, 6]),
        (["SELECT ghost FROM school"] * 2, [2, 6]),
    ],
)
def test_a_tree_grows_again_where_no_answer_leads(
    database: Database, sandbox: Sandbox, first: list[str], asked: list[int]
) -> None:
    """Its second round has as many leaves as are left, and each of them counts as much as one of the first."""
    sampler = Scripted(lambda text, number, seed: turn("solution", next(said)))
    said = iter([*first, *["SELECT 1"] * 2, *["SELECT 3"] * 4])
    [found] = work(database, sandbox, sampler, Decoding("tree", 8, 1.0, width=2))
    assert [len(call) for call in sampler.calls] == asked
    assert {leaf.votes for leaf in found.leaves} == {4}
    assert len({leaf.path for leaf in found.leaves}) == len(found.leaves) == sum(asked)
    assert found.answer == ("SELECT 1" if asked == [2] else "SELECT 3")


def test_a_second_round_has_the_leaves_that_are_left(database: Database, sandbox: Sandbox) -> None:
    """Of two ways one looks and parts in two, which answer otherwise than the first: four votes against four."""

    def say(text: str, number: int, seed: int) -> str:
        first = len(sampler.calls) == 1
        return turn("sql", "SELECT 7") if first and number else turn("solution", f"SELECT {9 if first else 5}")

    sampler = Scripted(say)
    [found] = work(database, sandbox, sampler, Decoding("tree", 8, 1.0, width=2))
    assert [len(call) for call in sampler.calls] == [2, 2, 5]
    assert sorted(leaf.votes for leaf in found.leaves) == [2, 2, 4, 4, 4, 4, 4, 4]
    assert found.answer == "SELECT 5"


def test_branches_do_not_write_into_each_other(database: Database, sandbox: Sandbox) -> None:
    def say(text: str, number: int, seed: int) -> str:
        own = seed or crc32(text.encode())  # what is likeliest has no seed
        return turn("sql", f"SELECT {own}") if text.count("<observation>") < 3 else "the end"

    [found] = work(database, sandbox, Scripted(say), Decoding("tree", 8, 1.0, width=2))
    assert len(found.leaves) == 8
    histories = [tuple(step.turn.text for step in leaf.rollout.env.steps) for leaf in found.leaves]
    assert len(set(histories)) == 8
    for leaf in found.leaves:
        tokens = leaf.rollout.tokens
        assert len(tokens.ids) == len(tokens.turns) == len(tokens.logprobs)
        assert len(leaf.rollout.env.looks) == 3
        text = Characters().decode(tokens.ids)
        assert all(step.turn.text in text for step in leaf.rollout.env.steps)


def test_a_task_is_decoded_the_same_in_any_company(database: Database, sandbox: Sandbox) -> None:
    def say(text: str, number: int, seed: int) -> str:
        return turn("solution", f"SELECT {seed}") if seed % 3 else turn("sql", f"SELECT {seed % 5}")

    decoding = Decoding("tree", 6, 1.0, width=2)
    together = work(database, sandbox, Scripted(say), decoding, count=3)
    alone = decode([task(database, 2)], Policy(Scripted(say), Characters(), LIMITS), sandbox, decoding)
    assert together[2].answer == alone[0].answer
    assert together[0].answer != together[2].answer
    assert [leaf.votes for leaf in together[2].leaves] == [leaf.votes for leaf in alone[0].leaves]


def test_an_adaptive_vote_elects_whom_all_would_and_asks_fewer(database: Database, sandbox: Sandbox) -> None:
    """Answers depend on the sample's seed alone, some after a look; the samples of both are the same."""

    def say(text: str, number: int, seed: int) -> str:
        if seed % 4 == 0 and "<observation>" not in text:
            return turn("sql", f"SELECT {seed}")
        return turn("solution", f"SELECT {seed % 2}" if text.startswith("prompt 0") else "SELECT 7")

    vote, adaptive = Decoding("vote", 8, 1.0), Decoding("adaptive", 8, 1.0)
    all_asked = work(database, sandbox, Scripted(say), vote, count=6)
    found = work(database, sandbox, Scripted(say), adaptive, count=6)
    assert [one.answer for one in found] == [one.answer for one in all_asked]
    assert [len(one.leaves) for one in found[1:]] == [5] * 5  # which agree: three others change nothing
    assert 5 < len(found[0].leaves) <= 8
    for one, every in zip(found, all_asked, strict=True):
        assert one.leaves[0].path == every.leaves[0].path
        paths = sorted(leaf.path for leaf in one.leaves)
        assert paths == sorted(leaf.path for leaf in every.leaves)[: len(paths)]
    assert sum(one.written for one in found) < sum(one.written for one in all_asked)


OTHERWISE = "SELECT founded FROM school WHERE name = 'school 5'"
STORED = "SELECT founded FROM school WHERE name = 'School 5'"


@pytest.mark.parametrize(
    ("decoding", "drawn", "asked", "answer"),
    [
        (Decoding("vote", 6, 0.7), [OTHERWISE] * 5 + [STORED], [6], STORED),
        (Decoding("vote", 6, 0.7, checks=False), [OTHERWISE] * 5 + [STORED], [6], OTHERWISE),
        (Decoding("vote", 3, 0.7), ["SELECT no"] * 2 + [OTHERWISE], [3], OTHERWISE),  # what fails is worth less
        (Decoding("adaptive", 5, 0.7), [OTHERWISE] * 4 + [STORED], [3, 2], STORED),
        (Decoding("adaptive", 5, 0.7), [STORED] * 3, [3], STORED),
        (Decoding("adaptive", 5, 0.7, checks=False), [OTHERWISE] * 3, [3], OTHERWISE),
        (Decoding("tree", 4, 0.7), [OTHERWISE] * 3 + [STORED], [2, 2], STORED),
        (Decoding("tree", 4, 0.7), [STORED] * 2, [2], STORED),
    ],
)
def test_those_vote_that_least_speaks_against(
    database: Database, sandbox: Sandbox, decoding: Decoding, drawn: list[str], asked: list[int], answer: str
) -> None:
    """In a second round, too: where something speaks against all that agree."""
    said = iter(drawn)
    sampler = Scripted(lambda text, number, seed: turn("solution", next(said)))
    whole = replace(task(database), profile=profile_database(database), question="When was School 5 founded?")
    [found] = decode([whole], Policy(sampler, Characters(), LIMITS), sandbox, decoding)
    assert [len(call) for call in sampler.calls] == asked
    assert found.answer == answer


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (("beam", 1, 0.0), "no decoding 'beam'"),
        (("vote", 4, 0.0), "give a temperature"),
        (("vote", 0, 0.7), "at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: tuple[str, int, float], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        decoding_named(*settings)
    with pytest.raises(ConfigError, match="greedy decoding takes one"):
        Decoding("greedy", 4, 0.7)
