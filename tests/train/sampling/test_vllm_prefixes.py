"""What vLLM's engine is asked, where it is not installed."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from agro_train.agents.engine import EngineSampler


def test_an_engine_that_can_read_nothing_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    vllm, params = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    vllm.__dict__["SamplingParams"] = params.__dict__["RepetitionDetectionParams"] = lambda **_: None
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", params)

    def generate(*_: Any, **__: Any) -> None:
        pytest.fail("asked")

    engine = SimpleNamespace(model_config=SimpleNamespace(max_model_len=4), generate=generate)
    sampler = EngineSampler(engine, SimpleNamespace(eos_token_id=0))
    turns = sampler([[1] * 4, [1] * 9], temperature=1.0, max_tokens=8, seeds=[0, 1])
    assert [turn.cut for turn in turns] == [True, True]
    assert "9 tokens were to be read, and the model reads 4" in turns[1].refusal
