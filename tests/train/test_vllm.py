"""vLLM's engine writes what the module writes. Run for real, on its CPU build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from train.small import make_corpus, make_writer, prompts_of

from agro_data.publish.read import Version
from agro_train.engine import EngineSampler, load_engine
from agro_train.loading import LanguageModel, load
from agro_train.sampling.module import ModuleSampler
from agro_train.tokens import encode_prompt

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
