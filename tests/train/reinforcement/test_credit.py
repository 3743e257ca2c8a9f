"""Credit, prompts and provers on rollouts that are scripted: who gets what, counted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest
from train.small import Scripted, make_corpus
from train.tiny import make_tiny_model

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.protocol import wrap_observation
from agro_train.advantages import Scale
from agro_train.language_model.loading import load_tokenizer
from agro_train.language_model.tokens import encode
from agro_train.programs.settings import SettingsError
from agro_train.questions import Questions, questions_of_version
from agro_train.reinforcement.credit import (
    anchors,
    grounded,
    of_progress,
    of_rollouts,
    of_states,
    token_advantages,
)
from agro_train.reinforcement.episodes import Player, measures
from agro_train.reinforcement.prompts import BadGolds, Selection, Wanted, schedule, select, shuffled
from agro_train.reinforcement.provers import Provers, chances_of, of_provers
from agro_train.rollouts import Limits
from agro_train.sampling.types import too_long
from agro_train.tasks import PromptFormat, Task

LOOK = "<think>so</think><sql>SELECT city FROM school</sql>"
OTHER = "<think>so</think><sql>SELECT ghost FROM school</sql>"
RIGHT = "<think>so</think><solution>SELECT name FROM school</solution>"
WRONG = "<think>so</think><solution>SELECT city FROM school</solution>"
BROKEN = "nothing of use"
LIMITS = Limits(turn=200, rollout=2_000, turns=3)

Play = Callable[[Callable[[str, int], str]], Player]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Questions:
    root = tmp_path_factory.mktemp("corpus")
    version = make_corpus(root, golds=["SELECT ghost FROM school"])
    return questions_of_version(version, root / "databases", root / "cache", "train")


@pytest.fixture(scope="module")
def tasks(questions: Questions) -> list[Task]:
    """The first asks for the names of schools."""
    return questions.tasks(PromptFormat(turns=3))


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    tokenizer = load_tokenizer(make_tiny_model(tmp_path_factory.mktemp("tiny")))
    with Sandbox(workers=1) as sandbox:
        yield lambda script: Player(Scripted(tokenizer, script), tokenizer, sandbox, limits=LIMITS)


def turn_of(text: str) -> int:
    return text.count("</observation>")


def test_each_token_has_its_turns_advantage(player: Play, tasks: list[Task]) -> None:
    """Two rollouts look and answer; agent tokens share their rollout's advantage, the rest has none."""
    right, wrong = player(lambda text, _: RIGHT if turn_of(text) else LOOK), player(lambda *_: WRONG)
    episodes = [*right.play(tasks[:1], [0]), *wrong.play(tasks[:1], [1])]
    assert [one.reward.total for one in episodes] == [1, 0]
    assert [one.turns for one in episodes] == [2, 1]
    credit = of_rollouts(episodes, ["a", "a"], "none")
    assert [turns.tolist() for turns in credit.turns] == [[0.5, 0.5], [-0.5]]
    assert credit.facts == {"groups": 1, "informative_groups": 1, "contested_groups": 1}
    width = max(len(one.rollout.tokens.ids) for one in episodes) + 3
    found = token_advantages(episodes, credit, width)
    assert found.shape == (2, width)
    mask = np.zeros((2, width), dtype=bool)
    for row, one in enumerate(episodes):
        mask[row, : len(one.rollout.tokens.ids)] = one.rollout.tokens.mask
    assert set(found[0][mask[0]]) == {0.5}
    assert set(found[1][mask[1]]) == {-0.5}
    assert not found[~mask].any()
    seen = episodes[0].rollout.env.steps[0].observation
    assert seen is not None
    outside = len(episodes[0].rollout.tokens.ids) - int(mask[0].sum())
    assert outside == len(encode(wrap_observation(seen), right.tokenizer))


def test_what_a_model_was_turned_to_is_praised_and_not_blamed(player: Play, tasks: list[Task]) -> None:
    episodes = [*player(lambda *_: RIGHT).play(tasks[:1], [0]), *player(lambda *_: WRONG).play(tasks[:1], [0])]
    for episode in episodes:
        episode.rollout.tokens.turned = {2, 5}
    width = max(len(one.rollout.tokens.ids) for one in episodes)
    right, wrong = token_advantages(episodes, of_rollouts(episodes, ["a", "a"], "none"), width)
    assert set(right) == {0.5}
    assert wrong[[2, 5]].tolist() == [0, 0]
    assert set(np.delete(wrong, [2, 5])) == {-0.5}
    assert measures(episodes)["turned_tokens"] == 2


def test_what_was_read_is_remembered_from_turn_to_turn(player: Play, tasks: list[Task]) -> None:
    """The prompt stands before every turn: a sampler that is timed is told when weights stay as they are, too."""
    told: list[str] = []

    @contextmanager
    def remembering() -> Iterator[None]:
        told.append("begun")
        yield
        told.append("over")

    def script(text: str, _: int) -> str:
        told.append("turn")
        return RIGHT if turn_of(text) else LOOK

    looking = player(script)
    vars(looking.sampler)["remembering"] = remembering
    looking.play(tasks[:1], [0])
    assert told == ["begun", "turn", "turn", "over"]


def test_a_rollout_ends_with_what_the_agent_said_where_a_model_reads_no_further(
    player: Play, tasks: list[Task]
) -> None:
    """What it saw last may be more than the model has places for, and nothing was written behind it."""
    scripted = player(lambda *_: LOOK)
    write = scripted.sampler
    scripted.sampler = lambda prefixes, **settings: (
        [too_long(9, 8)] if turn_of(scripted.tokenizer.decode(prefixes[0])) else write(prefixes, **settings)
    )
    (episode,) = scripted.play(tasks[:1], [0])
    assert episode.finished.outcome == "truncated"
    assert episode.rollout.refusal
    assert scripted.tokenizer.decode(episode.rollout.tokens.ids) == LOOK
    assert set(episode.rollout.tokens.mask) == {1}


def test_what_leaves_no_room_for_a_turn_is_not_read(player: Play, tasks: list[Task]) -> None:
    """After the prompt stand no more tokens than are allowed, and the sampler is not asked for what has no room."""
    scripted = player(lambda text, _: LOOK)
    look, seen = (len(encode(text, scripted.tokenizer)) for text in (LOOK, wrap_observation("")))
    asked: list[int] = []
    write = scripted.sampler
    scripted.sampler = lambda prefixes, **settings: asked.append(len(prefixes)) or write(prefixes, **settings)
    room = look + seen
    short = replace(scripted, limits=Limits(turn=200, rollout=room, turns=3))
    (episode,) = short.play(tasks[:1], [0])
    assert episode.finished.outcome == "truncated"
    assert len(episode.rollout.tokens.ids) == look <= room
    assert episode.rollout.env.looks
    assert asked == [1]


def test_measures_are_means(player: Play, tasks: list[Task]) -> None:
    texts = [RIGHT, WRONG, BROKEN, BROKEN]
    episodes = [episode for text in texts for episode in player(lambda *_, text=text: text).play(tasks[:1], [0])]  # type: ignore[misc]
    found = measures(episodes)
    assert found["reward"] == -0.25
    assert (found["reward/correct"], found["reward/malformed"]) == (0.25, -0.5)
    assert (found["format_rate"], found["execution_rate"], found["right"], found["turns"]) == (0.5, 0.5, 0.25, 1)
    assert measures([]) == {}


def test_steps_in_one_state_are_compared(player: Play, tasks: list[Task]) -> None:
    """After the same look one answers right and one wrong; a third looked elsewhere and is alone there."""
    episodes = [
        *player(lambda text, _: RIGHT if turn_of(text) else LOOK).play(tasks[:1], [0]),
        *player(lambda text, _: WRONG if turn_of(text) else LOOK).play(tasks[:1], [0]),
        *player(lambda text, _: BROKEN if turn_of(text) else OTHER).play(tasks[:1], [0]),
    ]
    states = [anchors(one) for one in episodes]
    assert states[0] == states[1]
    assert states[0][0] == states[2][0]
    assert states[0][1] != states[2][1]
    assert [grounded(one).tolist() for one in episodes] == [[1, 1], [1, 1], [0, 0]]
    credit = of_states(episodes, ["a"] * 3, "none", gamma=0.5, omega=1.0)
    assert credit.facts["anchor_share"] == pytest.approx(5 / 6)
    # Rewards 1, 0, -1, mean 0. First turns: returns 0.5, 0, -0.5, mean 0. Second: 1 and 0 share a state, mean 0.5.
    assert [turns.tolist() for turns in credit.turns] == [[1.5, 1.5], [0.0, -0.5], [-1.5, -1.0]]


def test_progress_credits_turns_and_leaves_equal_groups_alone(player: Play, tasks: list[Task]) -> None:
    looks = player(lambda text, _: RIGHT if turn_of(text) else LOOK).play(tasks[:1], [0])
    fails = player(lambda *_: BROKEN).play(tasks[:1], [0])
    episodes = [*looks, *fails, *fails, *fails]
    parts = [np.array([0.2, 0.8]), np.array([-1.0]), np.array([0.3]), np.array([-0.3])]
    credit = of_progress(episodes, ["a", "a", "b", "b"], parts, scale="none", gamma=1.0, alpha=1.0, beta=0.5)
    # Group a: rewards 1 and -1; first turns return (0.2 + 0.5) + (0.8 + 0.5) = 2 and -1 (nothing ran).
    assert np.concatenate(credit.turns[:2]) == pytest.approx(np.array([1 + 1.5, 1, -1 - 1.5]))
    assert [turns.tolist() for turns in credit.turns[2:]] == [[0], [0]]


@pytest.mark.parametrize("scale", ["group", "none"])
def test_an_answer_that_is_right_is_not_blamed_for_standing_last(player: Play, tasks: list[Task], scale: Scale) -> None:
    """Four are right at once, four look around twice and are wrong; the head is perfect, and looking earns a half."""
    right = player(lambda *_: RIGHT).play(tasks[:1] * 4, [0] * 4)
    wrong = player(lambda text, _: WRONG if turn_of(text) == 2 else LOOK).play(tasks[:1] * 4, [0] * 4)
    parts = [np.array([1.0])] * 4 + [np.zeros(3)] * 4
    credit = of_progress([*right, *wrong], ["a"] * 8, parts, scale=scale, gamma=0.95, alpha=1.0, beta=0.5 / 3)
    assert all((turns > 0).all() for turns in credit.turns[:4])
    assert all((turns < 0).all() for turns in credit.turns[4:])


def test_the_progress_head_learns_what_rewards_add_up_to(player: Play, tasks: list[Task], tmp_path: Path) -> None:
    import torch

    from agro_train.reinforcement.progress import ProgressHead

    episodes = [
        *player(lambda text, _: RIGHT if turn_of(text) else LOOK).play(tasks[:1] * 4, [0] * 4),
        *player(lambda *_: BROKEN).play(tasks[:1] * 4, [0] * 4),
    ]
    states = torch.randn(12, 16, generator=torch.Generator().manual_seed(0))
    head, twin = (ProgressHead(16, "cpu", learning_rate=1e-2, updates=10, seed=3) for _ in range(2))
    losses = [head.contributions(states, episodes)[1] for _ in range(8)]
    assert losses[-1] < losses[0] / 10
    head.save(tmp_path)
    twin.load(tmp_path)
    for one, other in zip(
        head.contributions(states, episodes)[0], twin.contributions(states, episodes)[0], strict=True
    ):
        assert one.tolist() == other.tolist()


def test_a_progress_head_that_is_lost_says_so(player: Play, tasks: list[Task]) -> None:
    """Else its turns would count as equal, and the training would go on as if by GRPO."""
    import torch

    from agro_train.reinforcement.progress import ProgressHead

    episodes = player(lambda *_: RIGHT).play(tasks[:1] * 2, [0] * 2)
    head = ProgressHead(16, "cpu", learning_rate=1e30, updates=4, seed=3)
    with pytest.raises(SettingsError, match="gives no numbers any more: lower spa_learning_rate"):
        head.contributions(torch.randn(2, 16), episodes)


def test_a_prefix_is_what_stood_there(player: Play, tasks: list[Task]) -> None:
    once = player(lambda text, _: WRONG if turn_of(text) == 2 else LOOK)
    (episode,) = once.play(tasks[:1], [0])
    assert episode.turns == 3
    for turn in range(3):
        part = episode.rollout.before(turn)
        assert part.tokens.so_far == episode.rollout.tokens.so_far[: len(part.tokens.so_far)]
        assert part.env.steps == episode.rollout.env.steps[:turn]
        assert part.env.outcome is None
        (again,) = once.finish([part], [0])
        assert again.rollout.tokens == episode.rollout.tokens
        assert again.finished == episode.finished
    with pytest.raises(ValueError, match="no prefix of 3 turns"):
        episode.rollout.before(3)


def test_provers_tell_turns_apart_where_rewards_do_not(player: Play, tasks: list[Task]) -> None:
    """From a good look the policy would end right, from the prompt half the time; all of the group ended wrong."""
    wrong = player(lambda text, _: WRONG if turn_of(text) else LOOK).play(tasks[:1], [0])
    astray = player(lambda text, _: WRONG if turn_of(text) else OTHER).play(tasks[:1], [0])
    group = [*wrong, *astray]
    prover = player(lambda text, seed: RIGHT if ("Oslo" in text or (not turn_of(text) and seed % 2)) else WRONG)
    (own, best), (own_astray, best_astray) = chances_of(group, prover, Provers(rollouts=8), seed=1)
    start, of_four = own[0], best[0]
    assert 0 < start < of_four < 1
    assert of_four == pytest.approx(1 - comb(8 - round(8 * start), 4) / comb(8, 4))
    assert [own.tolist(), best.tolist()] == [[start, 1, 0], [of_four, 1, 0]]
    assert [own_astray.tolist(), best_astray.tolist()] == [[start, 0, 0], [of_four, 0, 0]]
    credit = of_provers([*group, *wrong], ["a", "a", "b"], "none", prover, Provers(rollouts=8, groups=1), seed=1)
    assert credit.facts["proved_groups"] == 1
    good, bad = credit.turns[0], credit.turns[1]
    assert good[0] > 0 > good[1]  # the look was good, the answer threw it away
    assert bad[0] < 0
    # A quarter of the policy's chance and three of its best of four: the answer lost 1 of each, the looks are 1 apart.
    assert [good[1], good[0] - bad[0]] == pytest.approx([-1, 1])
    assert not credit.turns[2].any()  # beyond the number of groups


@pytest.mark.parametrize("scale", ["group", "none"])
@pytest.mark.parametrize("end", [RIGHT, WRONG])
def test_a_look_that_changes_no_chance_is_neither_praised_nor_blamed(
    player: Play, tasks: list[Task], end: str, scale: Scale
) -> None:
    """From anywhere half of the prover's attempts end right; all of the group end alike."""
    group = player(lambda text, _: end if turn_of(text) else LOOK).play(tasks[:1] * 2, [0, 1])
    ends = iter(range(1_000))
    credit = of_provers(
        group, ["a", "a"], scale, player(lambda *_: RIGHT if next(ends) % 2 else WRONG), Provers(rollouts=8), seed=1
    )
    for look, answer in credit.turns:
        assert look == 0
        assert (answer > 0) == (end is RIGHT)
        assert answer != 0


def test_episodes_in_one_state_share_its_provers(player: Play, tasks: list[Task]) -> None:
    """Two looked alike in other words, a third elsewhere: three states, and each prefix of a state is gone on with."""
    said = LOOK.replace("so", "the city, then")
    looked = [
        player(lambda text, _, look=look: WRONG if turn_of(text) else look).play(tasks[:1], [0])[0]  # type: ignore[misc]
        for look in (LOOK, said, OTHER)
    ]
    asked: list[str] = []

    def prove(text: str, _: int) -> str:
        asked.append(text)
        return RIGHT if said in text else WRONG

    chances = chances_of(looked, player(prove), Provers(rollouts=4, best_of=2), seed=1)
    assert len(asked) == 3 * 4
    assert sum(said in text for text in asked) == 2
    assert [own.tolist() for own, _ in chances] == [[0, 0.5, 0], [0, 0.5, 0], [0, 0, 0]]
    assert chances[0][1].tolist() == pytest.approx([0, 5 / 6, 0])  # of six pairs one has none that is right


def test_prompts_that_are_solved_now_and_then_are_kept(player: Play, questions: Questions, tasks: list[Task]) -> None:
    """Names of schools are found always, their cities half the time, the rest never."""
    golds = {task.question: task.gold for task in tasks}

    def script(text: str, seed: int) -> str:
        gold = next(sql for asked, sql in golds.items() if asked in text)
        known = gold == "SELECT name FROM school" or (gold == "SELECT city FROM school" and seed % 2)
        return f"<think>so</think><solution>{gold if known else 'SELECT 1 FROM lesson'}</solution>"

    rows = {row["example_id"]: row for row in questions.rows}
    by_id = {task.example_id: task for task in tasks}
    lines: list[dict[str, object]] = []
    found = select(
        list(rows), lambda keys: [by_id[key] for key in keys], player(script), Wanted(5, drop=True), lines.append
    )
    assert found.facts() == {"kept": 1, "tried": 9, "bad_golds": 1, "too_hard": 7, "too_easy": 1, "too_long": 0}
    assert by_id[found.kept[0]].gold == "SELECT city FROM school"
    assert lines == [{"phase": "select", **found.facts()}]
    assert Selection.from_json(found.to_json()) == found
    with pytest.raises(BadGolds, match="ghost"):
        select(list(rows), lambda keys: [by_id[key] for key in keys], player(script), Wanted(5))


@pytest.mark.parametrize("tries", [0, 2])
def test_a_choice_that_was_interrupted_goes_on(
    player: Play, questions: Questions, tasks: list[Task], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agro_train.reinforcement.prompts.CHUNK", 4)
    by_id = {task.example_id: task for task in tasks}
    keys = [row["example_id"] for row in questions.rows]
    wanted = Wanted(7, tries, low=0.0, high=1.0, drop=True)
    stored: list[Selection] = []
    asked: list[str] = []

    def make(some: Sequence[str]) -> list[Task]:
        asked.extend(some)
        return [by_id[key] for key in some]

    def choose(found: Selection) -> Selection:
        one = player(lambda text, seed: "<think>so</think><solution>SELECT name FROM school</solution>")
        return select(keys, make, one, wanted, found=found, store=stored.append)

    whole = choose(Selection())
    assert asked == keys[:8]
    for number, some in enumerate(stored[:2], start=1):
        asked.clear()
        assert choose(Selection.from_json(json.loads(json.dumps(some.to_json())))) == whole
        assert asked == keys[4 * number : 8]


def test_a_schedule_shows_all_before_it_repeats() -> None:
    keys = [str(number) for number in range(7)]
    found = schedule(keys, 17, seed=1)
    assert len(found) == 17
    assert sorted(found[:7]) == sorted(found[7:14]) == keys
    assert found[:7] != found[7:14]
    assert found == schedule(keys, 17, seed=1) != schedule(keys, 17, seed=2)
    assert found[:5] == schedule(keys, 5, seed=1)
    assert sorted(shuffled(keys, 1)) == keys
    with pytest.raises(ValueError, match="no prompt"):
        schedule([], 3, seed=0)
