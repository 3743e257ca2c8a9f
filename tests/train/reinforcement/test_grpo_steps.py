"""Steps of GRPO with a tiny model on a real corpus: what is learnt from is what happened."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from train.small import Scripted, prompts_of
from train.tiny import make_tiny_other

from agro_data.config import ConfigError
from agro_data.protocol import wrap_observation
from agro_data.publish.read import Version
from agro_train.grpo import train
from agro_train.language_model.loading import framing_of, load, load_tokenizer
from agro_train.language_model.tokens import encode, encode_prompt
from agro_train.programs.settings import SettingsError
from agro_train.reinforcement.config import GrpoConfig
from agro_train.runs.store import runs_of
from agro_train.sampling.types import Sampled


def watched(
    monkeypatch: pytest.MonkeyPatch, script: Callable[..., Any], see: Callable[[Any, dict[str, Any]], None]
) -> None:
    """Attempts are written by what `script` makes of the tokenizer; `see` is told what each step learns from."""
    from agro_train.reinforcement.trainer import AgenticTrainer

    real = AgenticTrainer._generate_and_score_completions

    def spy(self: Any, inputs: Any) -> dict[str, Any]:
        output: dict[str, Any] = real(self, inputs)
        see(self, output)
        return output

    monkeypatch.setattr(AgenticTrainer, "_sampler", lambda _, tokenizer: script(tokenizer))
    monkeypatch.setattr(AgenticTrainer, "_generate_and_score_completions", spy)


def test_what_is_learnt_from_is_what_the_agent_wrote(config: GrpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss mask leaves out exactly the environment's turns, and tokens are those that were sampled.

    The agent is scripted: it looks once or twice, then answers, each in its own way.
    """

    def script(text: str, seed: int) -> str:
        looks = text.count("</observation>")
        action = "sql" if looks == 0 or (looks == 1 and seed % 2) else "solution"
        return f"<think>{seed % 7}</think><{action}>SELECT {'name' if seed % 3 else 'city'} FROM school</{action}>"

    seen: list[tuple[dict[str, Any], list[Any], Any]] = []

    def see(trainer: Any, output: dict[str, Any]) -> None:
        seen.append((output, list(trainer.episodes), trainer.player.tokenizer))

    watched(monkeypatch, lambda tokenizer: Scripted(tokenizer, script), see)
    train(replace(config, turn_tokens=200, rollout_tokens=900))
    observed = 0
    for output, episodes, tokenizer in seen:
        mask = output["completion_mask"] * output["tool_mask"]
        for row, episode in enumerate(episodes):
            answers = [s.observation for s in episode.rollout.env.steps if s.observation is not None]
            told = sum(len(encode(wrap_observation(text), tokenizer)) for text in answers)
            observed += len(answers)
            assert int(output["completion_mask"][row].sum() - mask[row].sum()) == told
            sampled = output["sampling_per_token_logps"][row]
            assert bool((sampled[mask[row] == 0] == 0).all())
            assert bool((sampled[mask[row] == 1] == -0.5).all())
            assert bool((output["advantages"][row][mask[row] == 0] == 0).all())
            text = tokenizer.decode(output["completion_ids"][row][output["completion_mask"][row] == 1])
            assert all(wrap_observation(answer) in text for answer in answers)
    assert observed >= 2 * 2 * 8  # in two steps of two groups of eight


def test_tokens_are_learnt_as_they_were_drawn_and_read_again_as_such(
    config: GrpoConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent spells: no tokenizer would part its words so, and what was made of its text would be other tokens."""

    class Spelling(Scripted):
        def __call__(self, prefixes: Any, *, max_tokens: int, **settings: Any) -> list[Sampled]:
            read.extend(map(tuple, prefixes))
            told = [self.tokenizer.decode(turn.ids) for turn in super().__call__(prefixes, max_tokens=900, **settings)]
            turns = [[token for letter in text for token in encode(letter, self.tokenizer)] for text in told]
            return [Sampled(ids, [-0.5] * len(ids), False) for ids in turns]

    def script(text: str, seed: int) -> str:
        column = "name" if seed % 3 else "city"
        action = "solution" if "</observation>" in text else "sql"
        return f"<think>so</think><{action}>SELECT {column} FROM school</{action}>"

    read: list[tuple[int, ...]] = []
    learnt: list[tuple[int, ...]] = []

    def see(trainer: Any, output: dict[str, Any]) -> None:
        tokenizer = trainer.player.tokenizer
        for row, episode in enumerate(trainer.episodes):
            mask = output["completion_mask"][row].bool()
            ids = output["completion_ids"][row][mask].tolist()
            assert ids == episode.rollout.tokens.ids
            assert len(ids) > len(encode(tokenizer.decode(ids), tokenizer))
            prompt = output["prompt_ids"][row][output["prompt_mask"][row].bool()].tolist()
            agents = output["tool_mask"][row][mask].bool().tolist()
            before = len(agents) - agents[::-1].index(False)  # the last turn is behind the last observation
            learnt.append((*prompt, *ids[:before]))

    watched(monkeypatch, lambda tokenizer: Spelling(tokenizer, script), see)
    train(replace(config, steps=1, turn_tokens=900, rollout_tokens=2_000))
    assert len(learnt) == 2 * 8
    assert set(learnt) <= set(read)


def test_a_slow_answer_is_stopped_by_its_steps(config: GrpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far below the five seconds of the clock, which go by faster where the machine does other things."""
    from agro_train.reinforcement.trainer import AgenticTrainer

    slow = "SELECT DISTINCT s.name FROM school AS s, lesson AS a, lesson AS b, lesson AS c, lesson AS d"
    answer = f"<think>so</think><solution>{slow} WHERE d.lesson_id <= 15</solution>"
    monkeypatch.setattr(AgenticTrainer, "_sampler", lambda _, tokenizer: Scripted(tokenizer, lambda text, seed: answer))
    (line,) = train(replace(config, steps=1, turn_tokens=200, rollout_tokens=900)).metrics()
    assert (line["format_rate"], line["execution_rate"]) == (1, 0)


def test_attempts_can_be_held_to_names(config: GrpoConfig) -> None:
    """A model that writes nothing of use is turned from it where it writes SQL, and learns all the same."""
    (free,) = train(replace(config, steps=1)).metrics()
    run = train(replace(config, steps=1, names=True))
    (held,) = run.metrics()
    assert free["turned_tokens"] == 0
    assert held["turned_tokens"] > 0
    assert run.manifest["parameters_moved"]["moved"]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("changes", "figures"),
    [
        ({"advantage": "gigpo", "loss_type": "dr_grpo", "scale": "none"}, ["anchor_share"]),
        ({"advantage": "spa", "loss_type": "grpo"}, ["progress_loss"]),
        ({"advantage": "pav", "pav_rollouts": 2, "pav_best_of": 1}, ["proved_groups"]),
        (
            {"resample": 2, "reward": "reex", "lora": 4},
            ["resampled_groups", "reward/entity", "kl"],
        ),
        ({"beta": 0.05, "reward": "arctic"}, ["kl", "reward/executes"]),
        ({"precision": "mixed", "gradient_checkpointing": True}, ["kl"]),
        ({"iterations": 2, "save_steps": 2}, ["clip_ratio"]),
    ],
)
def test_every_way_of_learning_runs(config: GrpoConfig, changes: dict[str, Any], figures: list[str]) -> None:
    run = train(replace(config, **{"learning_rate": 1e-2, "steps": 2, **changes}))
    first, second = run.metrics()
    assert all(figure in first for figure in figures)
    assert run.manifest["summary"] == {**first, **second}
    assert all(math.isfinite(value) for line in (first, second) for value in line.values() if value != "grpo")
    assert run.manifest["parameters_moved"]["moved"] == any(line["grad_norm"] > 0 for line in (first, second))
    assert framing_of(load(str(run.model), Path("unused")).tokenizer) == "chat"


def test_a_training_that_loses_its_model_says_so_and_leaves_none(config: GrpoConfig) -> None:
    """transformers logs such a loss as 0, and trains on."""
    with pytest.raises(SettingsError, match=r"step \d: the (loss|gradient) is no number.* lower learning_rate"):
        train(replace(config, steps=6, learning_rate=1e30, scale="none"))
    assert runs_of(Path(config.models), "grpo") == []


def test_the_last_step_has_a_line(config: GrpoConfig) -> None:
    run = train(replace(config, steps=3, log_steps=2, kl_every=10))
    assert [(line["step"], "kl" in line) for line in run.metrics()] == [(2, True), (3, True)]
    assert {"loss", "kl", "reward"} <= run.manifest["summary"].keys()


@pytest.mark.ci
@pytest.mark.parametrize("precision", ["float32", "mixed"])
def test_the_distance_from_the_model_before_grows(config: GrpoConfig, precision: str) -> None:
    lines = list(train(replace(config, steps=3, kl_every=1, learning_rate=1e-2, precision=precision)).metrics())
    assert lines[0]["kl"] == 0
    moved = next(place for place, line in enumerate(lines) if line["grad_norm"] > 0)
    assert lines[-1]["kl"] > 1e-4
    assert moved < 2


@pytest.mark.ci
def test_the_distance_is_looked_at_in_the_last_step_too(config: GrpoConfig) -> None:
    lines = train(replace(config, steps=4, kl_every=3, learning_rate=1e-2)).metrics()
    assert [place for place, line in enumerate(lines) if "kl" in line] == [0, 3]
    lines = train(replace(config, steps=4, kl_every=10, iterations=2, save_steps=2, learning_rate=1e-2)).metrics()
    assert [place for place, line in enumerate(lines) if "kl" in line] == [0, 2]


GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 2_048}
OPT = {"hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


@pytest.mark.parametrize(("kind", "facts"), [("gpt2", GPT2), ("opt", OPT)])
def test_nothing_is_dropped_from_what_was_drawn_whole(
    config: GrpoConfig, tmp_path: Path, kind: str, facts: dict[str, Any]
) -> None:
    """Their settings drop a tenth in training, as modules and as rates."""
    model = make_tiny_other(tmp_path / kind, kind, **facts)
    still = replace(config, model=str(model), steps=2, kl_every=1, learning_rate=0.0, group=2, micro_batch=4)
    *_, line = train(still).metrics()
    assert line["kl"] == pytest.approx(0, abs=1e-7)


def test_attempts_end_where_the_model_reads_no_further(config: GrpoConfig, corpus: Version, tmp_path: Path) -> None:
    """It has a place for each token of the shortest prompt and its turn: longer ones are not asked, and no second turn
    is written."""
    tokenizer = load_tokenizer(make_tiny_other(tmp_path / "first", "gpt2", **GPT2))
    sizes = sorted(len(encode_prompt(prompt, tokenizer)) for prompt in prompts_of(corpus))
    reads = sizes[3] + config.turn_tokens
    model = make_tiny_other(tmp_path / "small", "gpt2", **{**GPT2, "n_positions": reads})
    small = replace(config, model=str(model), steps=1, group=2, micro_batch=4)
    run = train(small)
    (line,) = run.metrics()
    fitting = sum(size <= sizes[3] for size in sizes)
    assert fitting < len(sizes)
    assert (run.manifest["selection"]["kept"], run.manifest["selection"]["too_long"]) == (fitting, len(sizes) - fitting)
    assert line["completion_length"] <= config.turn_tokens
    with pytest.raises(SettingsError, match=f"'too_long': {len(sizes)}"):
        train(replace(small, turn_tokens=reads))


def test_what_adapters_have_learnt_is_not_rounded_away(writer: Path, config: GrpoConfig) -> None:
    """A step of 1e-4 on weights of about 0.1, of which bfloat16 tells apart what differs by 5e-4 and more."""
    run = train(replace(config, steps=1, lora=4, precision="bfloat16", learning_rate=1e-4))
    before, after = load(str(writer), Path("unused")), load(str(run.model), Path("unused"))
    weights = "model.layers.0.mlp.up_proj.weight"
    one, other = (module.network.state_dict()[weights] for module in (before, after))
    assert 0 < float((one - other).abs().max()) < 2e-4
    assert float((one != other).float().mean()) > 0.9


def test_hooks_that_trl_does_not_have_are_named(config: GrpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import Trainer
    from trl import GRPOTrainer

    from agro_train.reinforcement.trainer import HOOKS, AgenticTrainer

    private = {name for name in vars(AgenticTrainer) if name.startswith("_") and not name.startswith("__")}
    assert {*HOOKS} == private & {*dir(GRPOTrainer)}
    monkeypatch.delattr(Trainer, "_save_optimizer_and_scheduler")
    with pytest.raises(ConfigError, match=r"GRPOTrainer of trl \d\S* .* has no _save_optimizer_and_scheduler"):
        train(replace(config, select_rollouts=0))


@pytest.mark.slow
def test_it_learns(config: GrpoConfig) -> None:
    """From turns of which few are well formed to turns of which most are."""
    lines: list[dict[str, Any]] = []
    train(replace(config, steps=24, micro_batch=16, prompts_per_step=4, learning_rate=2e-3), lines.append)
    rewards = [line["reward"] for line in lines if line["phase"] == "grpo"]
    assert sum(rewards[-6:]) / 6 > sum(rewards[:6]) / 6 + 0.15
