"""The cold start on a tiny model: what is learnt, what is written down, and that a killed run goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from making import run_sqlite
from tokenizers import normalizers
from train.small import TUNING, cold_start_config, draft, make_split_corpus
from train.tiny import make_tiny_model, make_tiny_other, oddly_sampled
from transformers import AutoModelForCausalLM

from agro_data.config import ConfigError
from agro_data.protocol import Step, Turn
from agro_train import teach
from agro_train.cold_start import ColdStartConfig, train
from agro_train.finetuning import fine_tune as fine_tune_module
from agro_train.finetuning import saving
from agro_train.finetuning import trainer as finetuning_trainer
from agro_train.finetuning.fine_tune import fine_tune
from agro_train.language_model.loading import LanguageModel, load_tokenizer, read_module
from agro_train.language_model.moved import parameters_moved
from agro_train.language_model.tokens import IGNORED, Example, Tokens, encode_steps
from agro_train.programs.settings import SettingsError
from agro_train.questions import SeenInTraining
from agro_train.runs.store import read_metrics, runs_of
from agro_train.sampling.module import ModuleSampler
from agro_train.tasks import NoTask
from agro_train.trajectories import material
from agro_train.trajectories.config import TeacherKind
from agro_train.trajectories.material import encode_rows, read_back, short_enough
from agro_train.trajectories.store import TRAJECTORY

EXAMPLES = [Example([5 + n, 6, 7, 8 + n, 9, 10, 11 + n] * 3, ([0] * 4 + [1] * 3) * 3) for n in range(8)]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def config(tmp_path: Path, base: Path) -> ColdStartConfig:
    return cold_start_config(make_split_corpus(tmp_path), base)


def weights(path: Path) -> bytes:
    return (path / "model.safetensors").read_bytes()


def test_a_run_says_what_it_was_made_of(config: ColdStartConfig) -> None:
    lines: list[Mapping[str, Any]] = []
    run = train(config, lines.append)
    manifest = run.manifest
    assert manifest["kind"] == "cold_start"
    assert manifest["corpus"]["name"] == "school"
    assert manifest["databases"]
    assert manifest["serialiser"]["budget"] == config.budget
    assert manifest["parameters_moved"]["share"] > 0.5
    assert manifest["tokens"]["learnt"] < manifest["tokens"]["all"]
    assert {"format_rate", "execution_rate", "right"} <= set(lines[-1])
    assert [line for line in run.metrics() if "learning_rate" in line]
    assert not (run.path / "checkpoints").exists()
    assert train(config) == run  # the same settings are the same run
    moved = Path(shutil.copytree(config.corpus, Path(config.cache) / "moved" / Path(config.corpus).name))
    elsewhere = replace(config, corpus=str(moved), trajectories=config.cache, workers=1, save_every=7)
    assert train(elsewhere) == run  # wherever things lie, and however many work on them
    assert len(runs_of(Path(config.models), "cold-start")) == 1
    assert (Path(config.trajectories) / manifest["trajectories"]).is_dir()


def test_who_cannot_be_asked_under_way_is_said_before_anything_is_made(config: ColdStartConfig) -> None:
    (Path(config.databases) / "academy.sqlite").unlink()
    with pytest.raises(NoTask, match="database academy as it was when the corpus was made is not below"):
        train(config)
    assert not [*Path(config.trajectories).glob("school-trajectories/*")]
    assert train(replace(config, check_questions=0)).path.is_dir()  # it is not asked


def test_what_is_too_long_is_counted_and_what_is_chosen_is_learnt(
    config: ColdStartConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made for this training, it is left out before the choice; of trajectories that are given, as it is learnt."""
    made = teach.make(config)
    assert made.stored is not None
    tokenizer = load_tokenizer(Path(config.model))
    lengths = sorted(len(one.ids) for one in encode_rows(made.trajectories, tokenizer))
    shorter = replace(config, max_length=lengths[-2], check_questions=0)
    long = sum(length > shorter.max_length for length in lengths)
    assert long == 1
    given: list[Mapping[str, Any]] = []
    learnt = train(replace(shorter, learn_from=str(made.stored)), given.append).manifest
    assert learnt["dropped"]["too_long"] == long
    assert learnt["tokens"]["examples"] == made.trajectories.height - long
    [told] = [line for line in given if "too_long" in line]
    assert (told["too_long"], told["of"]) == (long, made.trajectories.height)
    assert [value for name, value in told.items() if name.endswith(" turns")] == ["1 of 1"]
    tokenised: list[str] = []

    def counted(prompt: str, *rest: Any) -> Tokens:
        tokenised.append(prompt)
        return encode_steps(prompt, *rest)

    monkeypatch.setattr(material, "encode_steps", counted)
    run = train(shorter).manifest  # nine are made, of which eight are short enough
    assert run["dropped"]["too_long"] == 1
    assert run["selection"]["made"] == run["tokens"]["examples"] == sum(run["selection"]["strata"].values()) == 8
    assert len(tokenised) == 9, "each once, to choose and to learn"


def test_what_the_tokenizer_alters_is_not_learnt(config: ColdStartConfig) -> None:
    """Qwen's composes accents: who learns from it looks for another value than the database has."""
    tokenizer = load_tokenizer(Path(config.model))
    frame = teach.make(config).trajectories.head(3)
    [first, second, third] = frame.to_dicts()
    first["turns"][-1]["text"] = "SELECT 1 WHERE name = 'Jose\u0301'"
    second["turns"][-1]["text"] = "SELECT 1 WHERE name = 'Jos\u00e9, ２'"
    rows = pl.DataFrame([first, second, third], schema=frame.schema)
    assert read_back(rows, tokenizer)[0].equals(rows)
    tokenizer.backend_tokenizer.normalizer = normalizers.NFC()
    kept, dropped = read_back(rows, tokenizer)
    assert kept.equals(rows.tail(2))
    assert dropped.rows() == [(first["example_id"], first["db_id"], "altered", dropped["detail"][0])]
    assert "Jose\u0301" in dropped["detail"][0]
    tokenizer.backend_tokenizer.normalizer = normalizers.NFKC()
    assert read_back(rows, tokenizer)[0].equals(rows.tail(1))
    with pytest.raises(SettingsError, match=r"alters every trajectory, the first: the tokenizer reads .SELECT 1"):
        read_back(rows.head(2), tokenizer)


@pytest.mark.parametrize("share", [False, True])
def test_what_the_model_cannot_read_is_left_out(config: ColdStartConfig, tmp_path: Path, share: bool) -> None:
    """GPT-2 has so many places, and an IndexError for what comes after them, once all trajectories are made."""
    made = teach.make(config)
    lengths = sorted(len(one.ids) for one in encode_rows(made.trajectories, load_tokenizer(Path(config.model))))
    facts = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": lengths[-2]}
    model = make_tiny_other(tmp_path / "gpt2", "gpt2", **facts)
    given = replace(config, learn_from=str(made.stored), model=str(model), check_questions=0, share_prompts=share)
    run = train(given).manifest
    long = sum(length > lengths[-2] for length in lengths)
    assert (run["dropped"]["too_long"], run["tokens"]["examples"]) == (long, len(lengths) - long)


def test_pairs_that_people_wrote(config: ColdStartConfig, tmp_path: Path) -> None:
    pairs = [{"db_id": "school", "question": f"Which are {n}?", "query": "SELECT name FROM school"} for n in range(4)]
    (tmp_path / "pairs.json").write_text(json.dumps(pairs))
    human = replace(config, corpus="", pairs=str(tmp_path / "pairs.json"), name="human")
    told: list[Mapping[str, Any]] = []
    run = train(human, told.append)
    assert {"phase": "trajectories", "learnt": 4, "asked_for": 8, "dropped": 0} in told
    assert run.manifest["corpus"] is None
    assert run.manifest["tokens"]["examples"] == 4
    assert train(human) == run
    run_sqlite(Path(config.databases) / "school.sqlite", "ALTER TABLE school ADD COLUMN motto TEXT")
    again = train(human)  # what stands in the prompts has changed
    assert again != run
    assert again.manifest["databases"] != run.manifest["databases"]


def test_pairs_about_what_the_corpus_evaluates_on_are_refused_before_anything_is_made(
    config: ColdStartConfig, tmp_path: Path
) -> None:
    facts = Path(config.corpus) / "manifest.json"
    manifest = json.loads(facts.read_text())
    manifest["split"]["databases"]["academy"] = "test"
    facts.write_text(json.dumps(manifest))
    pairs = [{"db_id": "academy", "question": "Who is there?", "query": "SELECT name FROM school"}]
    (tmp_path / "pairs.json").write_text(json.dumps(pairs))
    both = replace(config, pairs=str(tmp_path / "pairs.json"), name="both")
    with pytest.raises(SeenInTraining, match=r"1 databases .* \(academy\).*set allow_evaluated"):
        train(both)
    assert train(replace(both, allow_evaluated=True)).path.is_dir()


@pytest.mark.parametrize("teacher", ["model", "both"])
def test_several_processes_have_no_teacher_each(
    config: ColdStartConfig, teacher: TeacherKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SettingsError, match=r"each of the 2 processes.*`python -m agro_train\.teach`.* learn_from"):
        train(replace(config, teacher=teacher))
    assert not Path(config.models).exists()


@pytest.mark.parametrize(
    ("changes", "killed", "resumed"),
    [
        ({}, 5, 4),
        ({"epochs": 2.0}, 13, 12),  # in another order than the first time, which stays as it was
        ({"epochs": 2.0, "share_prompts": True}, 13, 12),
        ({"epochs": 2.0, "packing": True, "max_length": 30}, 13, 12),
    ],
)
def test_a_killed_run_goes_on_as_if_nothing_had_been(
    base: Path, tmp_path: Path, changes: dict[str, Any], killed: int, resumed: int
) -> None:
    tuning = replace(TUNING, **changes)
    whole = fine_tune(base, EXAMPLES, tuning, draft(tmp_path / "whole"))

    class Killed(Exception):
        pass

    def die(line: Mapping[str, Any]) -> None:
        if line["step"] == killed:
            raise Killed

    with pytest.raises(Killed):
        fine_tune(base, EXAMPLES, tuning, draft(tmp_path / "cut"), report=die)
    (tmp_path / "cut" / "checkpoints" / f"checkpoint-{resumed + 2}").mkdir()  # killed while it was written
    learnt = fine_tune(base, EXAMPLES, tuning, draft(tmp_path / "cut"))
    lines = [line for line in read_metrics(tmp_path / "cut" / "metrics.jsonl") if "final" not in line]
    assert [line["step"] for line in lines] == [*range(1, whole["steps"] + 1)]  # each once
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)  # those before the break count
    assert learnt["seconds"] >= seconds[-1]
    assert learnt["resumed_from"] == f"checkpoint-{resumed}"
    assert learnt["summary"] == whole["summary"]
    assert weights(tmp_path / "cut" / "model") == weights(tmp_path / "whole" / "model")
    again = fine_tune(base, EXAMPLES, tuning, draft(tmp_path / "cut"))  # killed after its last line
    assert again["summary"] == whole["summary"]
    assert sum("final" in line for line in read_metrics(tmp_path / "cut" / "metrics.jsonl")) == 1


def test_a_long_training_saves_in_time(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the checkpoints that `save_every` asks for, at a line of metrics, so that a break costs minutes."""
    tuning = replace(TUNING, epochs=4.0, save_every=200)
    whole = fine_tune(base, EXAMPLES, tuning, draft(tmp_path / "whole"))
    monkeypatch.setattr(saving, "SECONDS", 0.0)

    class Killed(Exception):
        pass

    def die(line: Mapping[str, Any]) -> None:
        if line["step"] > 8:
            raise Killed

    with pytest.raises(Killed):
        fine_tune(base, EXAMPLES, tuning, draft(tmp_path / "cut"), report=die)
    learnt = fine_tune(base, EXAMPLES, tuning, draft(tmp_path / "cut"))
    assert learnt["resumed_from"] is not None
    assert learnt["summary"] == whole["summary"]


def test_no_line_of_metrics_is_cut_by_a_checkpoint(base: Path, tmp_path: Path) -> None:
    """A run that goes on begins a line there, whose loss would be that of other steps."""
    tuning = replace(TUNING, epochs=4.0, save_every=4)  # 32 steps: lines for 3 of them would do
    fine_tune(base, EXAMPLES, tuning, draft(tmp_path / "run"))
    lines = [line["step"] for line in read_metrics(tmp_path / "run" / "metrics.jsonl") if "final" not in line]
    assert lines == [*range(2, 33, 2)]


def test_several_processes_take_fewer_steps(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their few have lines, and none goes into a warm-up of one step, which would teach nothing."""
    monkeypatch.setattr(finetuning_trainer, "processes", lambda: 8)
    tokenizer = load_tokenizer(base)
    module = read_module(base, tokenizer, torch.float32)
    made = finetuning_trainer.make_trainer(module, tokenizer, EXAMPLES, replace(TUNING, epochs=4.0), tmp_path, [])
    assert (made.args.warmup_steps, made.args.logging_steps) == (0, 1)  # alone: 0.05 of 32 steps, and 2


def test_a_training_of_one_step_learns_from_it(base: Path, tmp_path: Path) -> None:
    done = fine_tune(base, EXAMPLES, replace(TUNING, batch=8, micro_batch=8), draft(tmp_path / "run"))
    assert done["steps"] == 1
    assert parameters_moved(base, tmp_path / "run" / "model").any


def test_a_training_that_loses_its_model_says_so_and_leaves_none(config: ColdStartConfig) -> None:
    """transformers logs such a loss as 0, and trains on."""
    lines: list[Mapping[str, Any]] = []
    with pytest.raises(SettingsError, match=r"step 2: the (loss|gradient) is no number \(nan\).* lower learning_rate"):
        train(replace(config, learning_rate=1e30, save_every=1), lines.append)
    assert [line["step"] for line in lines if "learning_rate" in line] == [1]
    assert runs_of(Path(config.models), "cold-start") == []
    assert not [*Path(config.models).rglob("checkpoint-2")]


def test_only_own_tokens_are_learnt() -> None:
    labels = EXAMPLES[0].labels
    assert [label for label in labels if label != IGNORED] == [9, 10, 11] * 3
    assert labels[0] == IGNORED


@pytest.mark.parametrize(
    "rows", [{}, {"share_prompts": True}, {"packing": True, "batch": 1, "micro_batch": 1}, {"lora": 4}]
)
def test_the_loss_is_that_of_the_agents_tokens_alone(base: Path, tmp_path: Path, rows: dict[str, Any]) -> None:
    """Counted without TRL: the mean over what stands in no prompt and in no observation."""
    tokenizer = load_tokenizer(base)
    look = Step(Turn("I look.", "sql", "SELECT name FROM city"), "name\nOslo\n(1 row, 3 turns left)")
    answer = Step(Turn("Done.", "solution", "SELECT COUNT(*) FROM city"))
    made = [encode_steps(f"How many of {n}?", [*[look] * (n % 3), answer], tokenizer) for n in range(6)]
    examples = [Example(one.so_far, [0] * len(one.prompt) + one.mask, "alike") for one in made]
    module, scores = AutoModelForCausalLM.from_pretrained(base), list[torch.Tensor]()
    with torch.no_grad():
        for one in examples:
            logprobs = module(torch.tensor([one.ids])).logits[0].log_softmax(-1)
            scores += [-logprobs[place - 1, one.ids[place]] for place, own in enumerate(one.mask) if own]
    still = replace(TUNING, learning_rate=0.0, batch=6, micro_batch=6, max_length=1_000)
    learnt = fine_tune(base, examples, replace(still, **rows), draft(tmp_path / "run"))
    assert (learnt["steps"], learnt["tokens"]["learnt"]) == (1, len(scores))
    assert learnt["summary"]["loss"] == pytest.approx(float(torch.stack(scores).mean()), rel=1e-5)


def test_packing_changes_no_loss(base: Path, tmp_path: Path) -> None:
    """Examples in one sequence do not see each other."""
    still = replace(TUNING, learning_rate=0.0)
    apart = fine_tune(base, EXAMPLES, replace(still, batch=8, micro_batch=8), draft(tmp_path / "apart"))
    packed = fine_tune(base, EXAMPLES, replace(still, packing=True), draft(tmp_path / "packed"))
    assert packed["steps"] == 1
    assert packed["summary"]["loss"] == pytest.approx(apart["summary"]["loss"], rel=1e-4)


def test_adapters_are_merged_into_what_is_saved(base: Path, tmp_path: Path) -> None:
    """They change every linear layer, and nothing else."""
    fine_tune(base, EXAMPLES, replace(TUNING, lora=4, learning_rate=1e-2), draft(tmp_path / "lora"))
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "lora" / "model", dtype="auto").state_dict()
    before = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16).state_dict()
    assert merged.keys() == before.keys()
    changed = {name for name, one in before.items() if not torch.equal(one, merged[name])}
    assert changed == {name for name in before if name.endswith("_proj.weight")}


@pytest.mark.parametrize("kind", ["bfloat16", "float32"])
def test_the_last_look_is_in_what_is_fastest_here_at_what_is_saved(
    base: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bfloat16, a processor that has none takes minutes for it."""
    monkeypatch.setattr(fine_tune_module, "fastest_precision", lambda device: kind)
    seen: list[torch.Tensor] = []

    def look(model: LanguageModel) -> dict[str, float]:
        seen.append(next(model.network.parameters()).detach().clone())
        return {}

    fine_tune(base, EXAMPLES, TUNING, draft(tmp_path / "draft"), look)
    [looked_at] = seen
    saved = next(AutoModelForCausalLM.from_pretrained(tmp_path / "draft" / "model", dtype="auto").parameters())
    assert str(looked_at.dtype) == f"torch.{kind}"
    assert saved.dtype == torch.bfloat16
    assert torch.equal(looked_at.bfloat16(), saved)


def test_looks_under_way_stand_among_the_metrics(base: Path, tmp_path: Path) -> None:
    """Each at its step, of the model as it is then; the last one is in the last line."""
    seen: list[float] = []

    def look(model: LanguageModel) -> dict[str, float]:
        seen.append(float(next(model.network.parameters()).detach().float().norm()))
        return {"format_rate": len(seen) / 10}

    learnt = fine_tune(base, EXAMPLES, replace(TUNING, check_every=3), draft(tmp_path / "run"), look)
    lines = [line for line in read_metrics(tmp_path / "run" / "metrics.jsonl") if "format_rate" in line]
    assert [(line["step"], line["phase"], line["format_rate"]) for line in lines] == [
        (3, "check", 0.1),
        (6, "check", 0.2),
        (8, "cold_start", 0.3),
    ]
    assert lines[-1] == learnt["summary"]
    assert len(set(seen)) == 3


def test_a_look_under_way_computes_as_the_steps_do(base: Path, tmp_path: Path) -> None:
    seen: list[torch.dtype] = []

    def look(model: LanguageModel) -> dict[str, float]:
        layer = next(one for one in model.network.modules() if isinstance(one, torch.nn.Linear))
        layer.register_forward_hook(lambda module, given, made: seen.append(made.dtype))
        ModuleSampler(model.network, model.tokenizer)([[5, 6]], temperature=0.0, max_tokens=2, seeds=[None])
        return {}

    fine_tune(base, EXAMPLES, replace(TUNING, precision="mixed", check_every=4), draft(tmp_path / "draft"), look)
    assert seen[0] == torch.bfloat16


def test_a_model_whose_files_name_a_temperature_for_what_is_likeliest_is_saved(tmp_path: Path) -> None:
    base = oddly_sampled(make_tiny_model(tmp_path / "tiny"))
    fine_tune(base, EXAMPLES, TUNING, draft(tmp_path / "draft"))
    said = json.loads((tmp_path / "draft" / "model" / "generation_config.json").read_text())
    assert "temperature" not in said
    assert "eos_token_id" in said


def test_a_micro_batch_parts_its_batch() -> None:
    assert [replace(TUNING, batch=batch, micro_batch=4).micro_batch for batch in (2, 4, 5, 6, 8)] == [2, 4, 1, 3, 4]


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="precision"):
        replace(TUNING, precision="half")
    for wrong in ({"micro_batch": 0}, {"save_every": 0}, {"epochs": 0.0}):
        with pytest.raises(SettingsError, match=f"{next(iter(wrong))} is 0: expected"):
            ColdStartConfig(**wrong)
    with pytest.raises(SettingsError, match="max_length or lower budget"):
        short_enough(pl.DataFrame(schema=TRAJECTORY), [], 10)
    for wrong in ({"examples": 0}, {"workers": 0}):
        with pytest.raises(SettingsError, match=f"{next(iter(wrong))} is 0: expected at least 1"):
            ColdStartConfig(**wrong)
    for wrong in ({"learning_rate": -1.0}, {"lora": -1}, {"check_questions": -1}):
        with pytest.raises(SettingsError, match=f"{next(iter(wrong))} is -1: expected at least 0"):
            ColdStartConfig(**wrong)
    for seed in (-5, 2**32):
        with pytest.raises(SettingsError, match=f"seed is {seed}: expected 0 to"):
            ColdStartConfig(seed=seed)
    with pytest.raises(ConfigError, match="5 of 4 attempts cannot be kept"):
        ColdStartConfig(teacher="model", teacher_keep=5)
