"""The choice of instances for a gold: a cover of what can be killed, small, and filled with answers that differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agro_data.verify.certificates.budget import Budget, budget_of
from agro_data.verify.certificates.pool import A_TABLE, BYTES, PER_GOLD, Certificate, MutantFate, choose

NAMES = [f"shop/{number:02d}.sqlite" for number in range(14)]


@given(
    kills=st.dictionaries(st.sampled_from(NAMES), st.sets(st.integers(0, 30), max_size=8)),
    answers=st.lists(st.integers(0, 5), min_size=len(NAMES), max_size=len(NAMES)),
    most=st.integers(1, PER_GOLD),
)
def test_few_instances_in_order_that_kill_all_that_can_be_killed(
    kills: dict[str, set[int]], answers: list[int], most: int
) -> None:
    digests = {name: str(answer) for name, answer in zip(NAMES, answers, strict=True)}
    chosen = choose(NAMES, kills, digests, most)
    assert len(set(chosen)) == len(chosen) <= most
    assert list(chosen) == sorted(chosen)
    killed = set().union(*(kills.get(name, set()) for name in chosen))
    if len(chosen) < most:
        assert killed == set().union(*kills.values())
        assert {digests[name] for name in chosen} == set(digests.values())


def test_the_instance_that_kills_most_comes_before_an_earlier_one_that_kills_less() -> None:
    kills = {NAMES[0]: {1}, NAMES[1]: {1, 2, 3}, NAMES[2]: {4}}
    same = dict.fromkeys(NAMES, "same answer everywhere")
    assert choose(NAMES, kills, same) == (NAMES[1], NAMES[2])
    assert choose(NAMES, kills, same, most=1) == (NAMES[1],)


def test_what_is_kept_is_chosen_first_and_the_own_before_others_with_another_answer() -> None:
    answers = dict.fromkeys(NAMES, "the same")
    answers[NAMES[1]], answers[NAMES[2]] = "one", "two"
    kills = {NAMES[0]: {1}}
    assert choose(NAMES, kills, answers, most=2, kept=[NAMES[9]]) == (NAMES[0], NAMES[9])
    assert choose(NAMES, kills, answers, most=2, own={NAMES[2]}) == (NAMES[0], NAMES[2])
    filled = choose(NAMES, kills, answers, most=5, own={NAMES[7], NAMES[8]})
    assert filled == (NAMES[0], NAMES[1], NAMES[2], NAMES[7], NAMES[8])
    assert choose(NAMES, kills, answers, most=4, own={NAMES[7], NAMES[8]}) == filled[:4]


def test_what_only_an_instance_left_out_kills_takes_no_place() -> None:
    answers = {name: name for name in NAMES}
    assert choose(NAMES[:5], {NAMES[3]: {1}, NAMES[9]: {2}}, answers) == tuple(NAMES[:5])


def test_a_kill_rate_leaves_out_what_is_proved_and_counts_the_undecided() -> None:
    fates = [MutantFate("limit", "", "", outcome) for outcome in ("killed", "killed", "equivalent", "undecided")]
    certificate = Certificate("SELECT 1", mutants=tuple(fates))
    assert certificate.kill_rate == 2 / 3
    assert [fate.outcome for fate in certificate.survivors] == ["undecided"]
    assert Certificate("SELECT 1").kill_rate == 1.0


def test_a_wide_schema_has_room_for_files_too() -> None:
    """An instance of AdventureWorks (68 tables) takes 1.4 MB: within 20 MB twelve had to do for all golds."""
    assert budget_of(30) == Budget()
    assert budget_of(68).bytes == 68 * A_TABLE > 2 * BYTES - 2**20
