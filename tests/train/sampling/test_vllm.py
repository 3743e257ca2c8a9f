"""vLLM's engine writes what the module writes. Run for real, on its CPU build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from train.small import grpo_config, make_corpus, make_writer, prompts_of

from agro_data.publish.read import Version
from agro_train.agents.engine import EngineSampler, load_engine
from agro_train.grpo import train
from agro_train.language_model.loading import LanguageModel, load
from agro_train.language_model.tokens import encode_prompt
from agro_train.sampling.module import ModuleSampler
from agro_train.sampling.repetition import repeats_itself
from agro_train.sampling.types import Sampler

pytest.importorskip("vllm", reason="vLLM is not installed; docs/reference.md says how to install it, or its CPU build")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

HEAD = 32  # the narrowest that the engine's attention takes on a CPU


@pytest.fixture(scope="module", autouse=True)
def quiet_engine() -> Iterator[None]:
    """The engine in this process and its threads as they are: many start, on a machine with other work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Version:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def writer(corpus: Version, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_writer(tmp_path_factory.mktemp("writer"), prompts_of(corpus), head=HEAD)


@pytest.fixture(scope="module")
def model(writer: Path) -> LanguageModel:
    return load(str(writer), writer)


@pytest.fixture(scope="module")
def engine(writer: Path) -> Iterator[EngineSampler]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        loaded = load_engine(str(writer), writer)
    sampler = EngineSampler(loaded.network, loaded.tokenizer)
    yield sampler
    sampler.close()


@pytest.fixture(scope="module")
def prefixes(corpus: Version, model: LanguageModel) -> list[list[int]]:
    return [encode_prompt(prompt, model.tokenizer) for prompt in prompts_of(corpus)]


def plain_logprobs(
    model: LanguageModel, prefix: Sequence[int], ids: Sequence[int], temperature: float = 1.0
) -> list[float]:
    """Of each of `ids` after `prefix`, by one forward pass over all."""
    import torch

    with torch.no_grad():
        logits = model.network(torch.tensor([[*prefix, *ids]])).logits[0, len(prefix) - 1 : -1] / temperature
    return torch.log_softmax(logits, dim=-1).gather(1, torch.tensor([ids]).T).squeeze(1).tolist()  # type: ignore[no-any-return]


def test_what_the_engine_cannot_read_costs_only_itself(engine: EngineSampler, prefixes: list[list[int]]) -> None:
    long = (prefixes[0] * 100)[:5_000]
    asked = [prefixes[0], long, long[:4_090]]
    short, refused, nearly = engine(asked, temperature=0.0, max_tokens=40, seeds=[0, 1, 2])
    [alone] = engine([prefixes[0]], temperature=0.0, max_tokens=40, seeds=[0])
    assert (short.ids, short.cut) == (alone.ids, alone.cut)
    assert short.logprobs == pytest.approx(alone.logprobs, abs=1e-4)  # some machines round otherwise in company
    assert (refused.ids, refused.cut) == ([], True)
    assert "5000 tokens were to be read, and the model reads 4096" in refused.refusal
    assert 0 < len(nearly.ids) <= 6


def test_greedy_turns_are_those_of_the_module(
    engine: EngineSampler, model: LanguageModel, prefixes: list[list[int]]
) -> None:
    asked = {"temperature": 0.0, "max_tokens": 40, "seeds": [0] * len(prefixes)}
    theirs = engine(prefixes, **asked)
    ours = ModuleSampler(model.network, model.tokenizer)(prefixes, **asked)
    assert [turn.ids for turn in theirs] == [turn.ids for turn in ours]
    assert [turn.cut for turn in theirs] == [turn.cut for turn in ours]
    for one, other in zip(theirs, ours, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-3)


def test_a_turn_without_an_end_is_cut(engine: EngineSampler, prefixes: list[list[int]]) -> None:
    [turn] = engine(prefixes[:1], temperature=0.0, max_tokens=3, seeds=[0])
    assert (len(turn.ids), len(turn.logprobs), turn.cut) == (3, 3, True)


def test_a_turn_that_repeats_itself_is_cut_where_the_module_cuts_it(
    engine: EngineSampler, model: LanguageModel, prefixes: list[list[int]]
) -> None:
    """A model that has learnt nothing repeats itself where it takes the likeliest token."""
    asked = {"temperature": 0.0, "max_tokens": 400, "seeds": [0] * len(prefixes)}
    theirs = engine(prefixes, **asked)
    ours = ModuleSampler(model.network, model.tokenizer)(prefixes, **asked)
    assert any(repeats_itself(turn.ids) for turn in ours)
    assert [turn.ids for turn in theirs] == [turn.ids for turn in ours]
    assert all(turn.cut for turn in theirs if repeats_itself(turn.ids))


def test_sampled_turns_have_the_logprobs_they_were_drawn_with(
    engine: EngineSampler, model: LanguageModel, prefixes: list[list[int]]
) -> None:
    group = [prefixes[0]] * 8
    asked = {"temperature": 0.7, "max_tokens": 30, "seeds": list(range(8))}
    turns = engine(group, **asked)
    assert len({tuple(turn.ids) for turn in turns}) > 1  # seeds differ
    assert [turn.ids for turn in engine(group, **asked)] == [turn.ids for turn in turns]  # and mean the same again
    for turn in turns:
        assert turn.logprobs == pytest.approx(plain_logprobs(model, prefixes[0], turn.ids, 0.7), abs=1e-3)


def test_an_engine_writes_with_the_weights_it_is_given(
    engine: EngineSampler, writer: Path, prefixes: list[list[int]]
) -> None:
    import torch

    def written(sampler: Sampler) -> list[list[int]]:
        return [turn.ids for turn in sampler(prefixes, temperature=0.0, max_tokens=40, seeds=[0] * len(prefixes))]

    before = written(engine)
    changed = load(str(writer), writer)
    own = {name: one.clone() for name, one in changed.network.named_parameters()}
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(1)
        for parameter in changed.network.parameters():
            parameter.mul_(1 + 0.5 * torch.randn_like(parameter))
    engine.take((name, parameter.data) for name, parameter in changed.network.named_parameters())
    after = written(engine)
    assert after == written(ModuleSampler(changed.network, changed.tokenizer))
    assert after != before
    engine.take(own.items())
    assert written(engine) == before


def test_grpo_by_an_engine_in_its_process(corpus: Version, writer: Path, tmp_path: Path) -> None:
    """In every step the log-probabilities of the engine are those of the weights under training."""
    from agro_train.reinforcement.trainer import AgenticTrainer

    config = replace(grpo_config(corpus, writer, tmp_path / "models"), steps=3, learning_rate=1e-2, use_vllm=True)
    furthest: list[float] = []
    play = AgenticTrainer._play

    def compared(self: AgenticTrainer, slots: Sequence[str]) -> dict[str, object]:
        made = play(self, slots)
        now = LanguageModel("now", writer, self.accelerator.unwrap_model(self.model), None)
        for one in self.episodes[:4]:
            tokens = one.rollout.tokens
            plain = plain_logprobs(now, tokens.prompt, tokens.ids, config.temperature)
            own = [abs(a - b) for a, b, agent in zip(plain, tokens.logprobs, tokens.mask, strict=True) if agent]
            furthest.append(max(own))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        patch.setattr(AgenticTrainer, "_play", compared)
        run = train(config)
    assert [line["step"] for line in run.metrics()] == [1, 2, 3]
    assert run.manifest["parameters_moved"]["moved"]
    assert len(furthest) == 12
    assert max(furthest) < 0.3  # TRL's engine computes in bfloat16: 0.12; with the first weights, 14.6
