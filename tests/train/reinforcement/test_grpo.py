"""GRPO with a tiny model on a real corpus: it learns, and what it learns from is what happened."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from train.small import Scripted, grpo_config, make_corpus, make_writer, prompts_of
from train.tiny import make_tiny_other, oddly_sampled

from agro_data.config import ConfigError
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.errors import InWords
from agro_data.files import write_json
from agro_data.profiling.serialising.serialise import SerialiserMismatch
from agro_data.protocol import wrap_observation
from agro_data.publish.read import Version
from agro_train import cold_start, grpo
from agro_train.agents import engine
from agro_train.cold_start import ColdStartConfig
from agro_train.grpo import train
from agro_train.language_model.loading import framing_of, load, load_tokenizer
from agro_train.language_model.tokens import encode, encode_prompt
from agro_train.programs.settings import SettingsError, settings_from, settings_to
from agro_train.questions import SeenInTraining
from agro_train.reinforcement.config import GrpoConfig, Schedule
from agro_train.reinforcement.prompts import BadGolds
from agro_train.runs.store import runs_of
from agro_train.sampling.types import Sampled


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Version:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def writer(corpus: Version, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_writer(tmp_path_factory.mktemp("writer"), prompts_of(corpus))


@pytest.fixture
def config(corpus: Version, writer: Path, tmp_path: Path) -> GrpoConfig:
    return grpo_config(corpus, writer, tmp_path / "models")


def test_a_run_is_made_measured_and_found_again(config: GrpoConfig, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    run = train(replace(config, tensorboard=True), lines.append)
    facts = run.manifest
    steps = list(run.metrics())
    assert [line["step"] for line in steps] == [1, 2]
    assert [line for line in lines if line["phase"] == "grpo"] == steps
    for line in steps:
        assert line["reward"] == pytest.approx(line["reward/correct"] + line["reward/malformed"])
        assert line["format_rate"] + line["malformed_rate"] + line["truncated_rate"] == pytest.approx(1)
        assert 0 < line["environment_share"] < 1
        assert line["groups"] == 2
        assert line["seconds"] >= line["generation_seconds"] + line["environment_seconds"]
    assert (facts["kind"], facts["parent"], facts["steps"]) == ("grpo", None, 2)
    assert facts["model_sha256"] != facts["base_sha256"]
    assert facts["parameters_moved"]["moved"]
    assert facts["selection"]["kept"] == 8
    assert [one["db_id"] for one in facts["databases"]] == ["school"]
    assert not (run.path / "checkpoints").exists()
    assert list(run.path.glob("tensorboard/events*"))
    seen = replace(config, tensorboard=True, workers=2, log_steps=2, save_steps=4, kl_every=0)
    assert train(seen).path == run.path  # the same settings, where it matters
    unseen = train(replace(seen, models=str(tmp_path / "unseen"))).manifest
    assert unseen["model_sha256"] == facts["model_sha256"]


def test_what_is_learnt_from_is_what_the_agent_wrote(config: GrpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss mask leaves out exactly the environment's turns, and tokens are those that were sampled.

    The agent is scripted: it looks once or twice, then answers, each in its own way.
    """
    from agro_train.reinforcement.trainer import AgenticTrainer

    def script(text: str, seed: int) -> str:
        looks = text.count("</observation>")
        action = "sql" if looks == 0 or (looks == 1 and seed % 2) else "solution"
        return f"<think>{seed % 7}</think><{action}>SELECT {'name' if seed % 3 else 'city'} FROM school</{action}>"

    monkeypatch.setattr(AgenticTrainer, "_sampler", lambda _, tokenizer: Scripted(tokenizer, script))

    seen: list[tuple[dict[str, Any], list[Any], Any]] = []
    real = AgenticTrainer._generate_and_score_completions

    def spy(self: Any, inputs: Any) -> dict[str, Any]:
        output: dict[str, Any] = real(self, inputs)
        seen.append((output, list(self.episodes), self.player.tokenizer))
        return output

    monkeypatch.setattr(AgenticTrainer, "_generate_and_score_completions", spy)
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
    from agro_train.reinforcement.trainer import AgenticTrainer

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
    monkeypatch.setattr(AgenticTrainer, "_sampler", lambda _, tokenizer: Spelling(tokenizer, script))
    real = AgenticTrainer._generate_and_score_completions

    def spy(self: Any, inputs: Any) -> dict[str, Any]:
        output: dict[str, Any] = real(self, inputs)
        tokenizer = self.player.tokenizer
        for row, episode in enumerate(self.episodes):
            mask = output["completion_mask"][row].bool()
            ids = output["completion_ids"][row][mask].tolist()
            assert ids == episode.rollout.tokens.ids
            assert len(ids) > len(encode(tokenizer.decode(ids), tokenizer))
            prompt = output["prompt_ids"][row][output["prompt_mask"][row].bool()].tolist()
            agents = output["tool_mask"][row][mask].bool().tolist()
            before = len(agents) - agents[::-1].index(False)  # the last turn is behind the last observation
            learnt.append((*prompt, *ids[:before]))
        return output

    monkeypatch.setattr(AgenticTrainer, "_generate_and_score_completions", spy)
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


@pytest.mark.parametrize("lora", [0, 4])
def test_a_model_whose_files_name_a_temperature_for_what_is_likeliest_is_saved(
    writer: Path, config: GrpoConfig, tmp_path: Path, lora: int
) -> None:
    base = oddly_sampled(shutil.copytree(writer, tmp_path / "odd"))
    run = train(replace(config, model=str(base), steps=1, lora=lora))
    assert "temperature" not in json.loads((run.model / "generation_config.json").read_text())


def test_hooks_that_trl_does_not_have_are_named(config: GrpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import Trainer
    from trl import GRPOTrainer

    from agro_train.reinforcement.trainer import HOOKS, AgenticTrainer

    private = {name for name in vars(AgenticTrainer) if name.startswith("_") and not name.startswith("__")}
    assert {*HOOKS} == private & {*dir(GRPOTrainer)}
    monkeypatch.delattr(Trainer, "_save_optimizer_and_scheduler")
    with pytest.raises(ConfigError, match=r"GRPOTrainer of trl \d\S* .* has no _save_optimizer_and_scheduler"):
        train(replace(config, select_rollouts=0))


def test_an_engine_that_is_not_installed_is_told_at_once(config: GrpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"vLLM is not installed here: .*, or unset use_vllm$"):
        train(replace(config, use_vllm=True))
    assert not Path(config.models).exists()


def test_prompts_are_chosen_once_and_counted(config: GrpoConfig) -> None:
    """The writer is hardly ever right: only the lowest bound keeps prompts, and what was left out is said."""
    settings = replace(config, select_rollouts=2, solve_rate_low=0.0, solve_rate_high=1.0, prompts=3)
    facts = train(settings).manifest["selection"]
    assert (facts["kept"], facts["tried"]) == (3, 9)
    with pytest.raises(SettingsError, match="0 of 9 candidates"):
        train(replace(settings, solve_rate_low=1.0))


def test_no_step_is_taken_while_a_gold_fails(writer: Path, config: GrpoConfig, tmp_path: Path) -> None:
    broken = make_corpus(tmp_path / "broken", golds=["SELECT ghost FROM school", "SELECT name FROM school WHERE 1 = 0"])
    settings = replace(config, corpus=str(broken.path), databases=str(tmp_path / "broken" / "databases"), prompts=20)
    with pytest.raises(BadGolds, match="2 examples") as told:
        train(settings)
    assert "0000000000000009" in str(told.value)
    assert "000000000000000a" in str(told.value)
    selection = train(replace(settings, bad_golds="drop", steps=1)).manifest["selection"]
    assert (selection["bad_golds"], selection["kept"]) == (2, 9)


@pytest.mark.ci
def test_a_parent_gives_its_history_and_must_read_alike(config: GrpoConfig, corpus: Version, tmp_path: Path) -> None:
    parent = train(replace(config, steps=1, name="first"))
    child = train(replace(config, steps=1, model="first"))
    assert child.manifest["parent"] == parent.name
    assert child.manifest["base_sha256"] == parent.manifest["base_sha256"]
    assert child.manifest["databases"] == parent.manifest["databases"]
    for same in (parent.name, str(parent.path), str(parent.model)):  # however it is named
        assert train(replace(config, steps=1, model=same)).path == child.path
    copied = shutil.copytree(parent.model, tmp_path / "copied")  # nobody knows what it has read
    assert train(replace(config, steps=1, model=str(copied))).path != child.path
    with pytest.raises(SettingsError, match="budget=250, turns=4; found 'compact', 400, 4"):
        train(replace(config, model="first", budget=400))
    held = make_corpus(tmp_path / "held", split={"mark": "", "databases": {"school": "test"}})
    with pytest.raises(SeenInTraining, match="holds back"):
        train(replace(config, model="first", corpus=str(held.path)))
    assert train(replace(config, model="first", corpus=str(held.path), allow_evaluated=True, steps=1)).path.is_dir()


def test_a_parent_is_asked_as_it_was_taught(config: GrpoConfig) -> None:
    """One that may ask back may go on to; one of another protocol, or whose tokenizer was changed, is refused."""
    parent = train(replace(config, steps=1, name="first"))
    manifest = dict(parent.manifest)
    after = replace(config, steps=1, model="first")
    write_json(parent.path / "manifest.json", {**manifest, "clarify": True})
    assert train(replace(after, name="asks")).manifest["clarify"] is True
    for change, told in ({"protocol": 1}, "protocol 1"), ({"framing": "plain"}, "the framing plain"):
        write_json(parent.path / "manifest.json", {**manifest, **change})
        with pytest.raises(SerialiserMismatch, match=told):
            train(replace(after, name="refused"))


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize("mark", ["", "same-database"])
def test_what_is_evaluated_on_is_learnt_from_only_by_who_says_so(
    config: GrpoConfig, tmp_path: Path, split: str, mark: str
) -> None:
    version = make_corpus(tmp_path, split={"mark": mark, "databases": {}})
    with pytest.raises(SeenInTraining, match=f"split='{split}'.*set allow_evaluated"):
        train(replace(config, corpus=str(version.path), split=split))


@pytest.mark.slow
def test_it_learns(config: GrpoConfig) -> None:
    """From turns of which few are well formed to turns of which most are."""
    lines: list[dict[str, Any]] = []
    train(replace(config, steps=24, micro_batch=16, prompts_per_step=4, learning_rate=2e-3), lines.append)
    rewards = [line["reward"] for line in lines if line["phase"] == "grpo"]
    assert sum(rewards[-6:]) / 6 > sum(rewards[:6]) / 6 + 0.15


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"reward": "best"}, "expected one of agro"),
        ({"group": 1}, "at least 2"),
        ({"temperature": 0.0}, "above 0"),
        ({"solve_rate_low": 0.9}, "low <= high"),
        ({"iterations": 3}, "multiples"),
        ({"prompts": 4}, "at least prompts_per_step=8"),
        ({"precision": "bfloat16"}, "trains adapters"),
        ({"advantage": "pav", "resample": 1}, "set resample to 0"),
        ({"advantage": "pav", "pav_rollouts": 4}, "pav_rollouts=4: expected more than pav_best_of=4"),
        ({"names": True, "use_vllm": True}, "unset use_vllm"),
        ({"log_steps": 3}, "save_steps=10: expected a multiple of log_steps=3"),
        ({"pav_rollouts": 0}, "pav_rollouts is 0: expected at least 1"),
        ({"step": 3}, "did you mean 'steps'"),
        ({"pav_groups": 0}, "pav_groups is 0: expected at least 1"),
        ({"candidates": 0}, "candidates is 0: expected at least 1"),
        ({"gamma": 1.5}, "gamma=1.5: expected a share"),
        ({"epsilon": -0.1}, "epsilon is -0.1: expected at least 0"),
        ({"learning_rate": -1.0}, "learning_rate is -1: expected at least 0"),
        ({"learning_rate": math.nan}, "learning_rate is nan: expected a finite number"),
        ({"temperature": math.inf}, "temperature is inf: expected a finite number"),
        ({"omega": math.nan}, "omega is nan: expected a finite number"),
        ({"pav_alpha": -1.0}, "pav_alpha is -1: expected at least 0"),
        ({"advantage": "spa", "spa_beta": 50.0}, "spa_beta=50: expected below 1, what a right answer earns"),
        ({"advantage": "spa", "spa_beta": 0.9, "reward": "arctic"}, "spa_beta=0.9: expected below 0.9"),
        ({"lora": -1}, "lora is -1: expected at least 0"),
        ({"seed": -5}, "seed is -5: expected 0 to 4294967295"),
        ({"vllm_memory": 0.0}, "vllm_memory=0.0: expected a share above 0"),
        ({"kl_every": -1}, "kl_every is -1: expected at least 0"),
        ({"kl_every": 5, "iterations": 2}, "kl_every=5: expected 0, or a multiple of iterations=2"),
        ({"schedule": "cosin"}, "schedule='cosin': expected one of constant_with_warmup"),
        ({"name": "../evil"}, "name is '../evil': expected the name of a folder"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        settings_from(GrpoConfig, changes)


def test_a_micro_batch_parts_a_step() -> None:
    asked = [GrpoConfig(prompts_per_step=1, group=group, micro_batch=8) for group in (2, 8, 9, 12, 16)]
    assert [config.micro_batch for config in asked] == [2, 8, 3, 6, 8]


@pytest.mark.parametrize("name", get_args(Schedule))
def test_a_schedule_needs_nothing_but_the_steps_of_the_warm_up(name: str) -> None:
    import torch
    from transformers import get_scheduler

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    assert get_scheduler(name, optimizer, num_warmup_steps=2, num_training_steps=8).get_last_lr()


def test_several_processes_make_another_run(corpus: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    config, cold = GrpoConfig(corpus=str(corpus.path)), ColdStartConfig(corpus=str(corpus.path))
    start = None, tmp_path
    alone = grpo._fingerprint(config, corpus, start), cold_start._fingerprint(cold, corpus, [], start)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert grpo._fingerprint(config, corpus, start) != alone[0]
    assert cold_start._fingerprint(cold, corpus, [], start) != alone[1]


def test_a_corpus_without_validation_rows_is_learnt_from_all_the_same(corpus: Version) -> None:
    config = ColdStartConfig(corpus=str(corpus.path), check_questions=4)
    with Sandbox(workers=1) as sandbox:
        assert cold_start._check(config, corpus, None, sandbox) is None


def test_a_bad_gold_is_said_in_words_on_the_terminal() -> None:
    assert issubclass(BadGolds, InWords)


def test_settings_are_json(config: GrpoConfig) -> None:
    assert settings_from(GrpoConfig, json.loads(json.dumps(settings_to(config)))) == config


@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_nothing_had_been(
    config: GrpoConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after random steps, perhaps while it writes a checkpoint; the losses are those of a quiet run, and so are
    those of SPA-RL's head, which goes on with its weights and its optimiser's state."""
    monkeypatch.setattr(grpo, "training_code_version", lambda: "fixed")  # whoever edits the code meanwhile
    config = replace(config, steps=6, save_steps=2, advantage="spa")
    quiet = train(replace(config, models=str(tmp_path / "quiet")))
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(settings_to(config)), encoding="utf-8")
    program = "from agro_train import grpo; grpo.training_code_version = lambda: 'fixed'; grpo.main()"
    command = [sys.executable, "-c", program, "--config", str(settings)]
    chance = random.Random(time.time_ns())
    for step in (chance.choice((1, 2)), chance.choice((3, 4, 5))):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(b"{") and json.loads(line).get("step", 0) >= step:
                time.sleep(chance.random() * 0.2)
                break
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    resumed = train(config)
    assert len({line["progress_loss"] for line in resumed.metrics()}) == 6
    assert resumed.manifest["resumed_from"] is not None
    assert [_lasting(line) for line in resumed.metrics()] == [_lasting(line) for line in quiet.metrics()]
    assert resumed.manifest["model_sha256"] == quiet.manifest["model_sha256"]


@pytest.mark.slow
def test_two_processes_learn_together(config: GrpoConfig, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(settings_to(config)), encoding="utf-8")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]  # as accelerate does with GPUs
    done = subprocess.run(
        [sys.executable, *launch, "--module", "agro_train.grpo", "--config", str(settings)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (run,) = runs_of(Path(config.models), "grpo")
    assert [line for line in done.stdout.splitlines() if line.startswith("grpo: ")] == [f"grpo: {run.path}"]
    lines = list(run.metrics())
    assert [line["step"] for line in lines] == [1, 2]
    for line in lines:
        assert line["groups"] == 2  # of each process
        assert line["right"] * 32 == pytest.approx(round(line["right"] * 32))  # a mean over the rollouts of both


def _lasting(line: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the clock."""
    return {name: value for name, value in line.items() if "second" not in name and name != "environment_share"}
