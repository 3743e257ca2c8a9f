"""A model in this process: a tiny random one."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from train.tiny import make_tiny_model

from agro_data.llm.client import Client
from agro_data.llm.local import LocalModel, open_local, weights_of
from agro_data.llm.rendering import prompt_ids, without_system
from agro_data.llm.types import Message, Request, Sampling
from agro_data.llm.writers import ENGINE, open_writer
from agro_data.models import FoundModel, ModelMissing


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LocalModel:
    pytest.importorskip("torch")
    return open_local(str(make_tiny_model(tmp_path_factory.mktemp("tiny"))), batch=3, network=False)


def asked(number: int, **sampling: object) -> Request:
    return Request((Message("user", f"Which {'city ' * number}is it?"),), Sampling(max_tokens=12, **sampling))  # type: ignore[arg-type]


def test_a_request_is_answered_alike_in_any_company(model: LocalModel) -> None:
    requests = [replace(asked(number, temperature=1.0), sample=number) for number in range(8)]
    together = Client(model).generate(requests)
    alone = [Client(model).generate([request])[0] for request in requests]
    assert [one.text for one in together] == [one.text for one in alone]
    assert len({one.text for one in together}) > 1
    again = Client(model).generate(asked(3, temperature=1.0).samples(4))
    assert len({one.text for one in again}) > 1


def test_greedy_takes_the_likeliest_and_a_small_share_does_too(model: LocalModel) -> None:
    greedy, narrow = Client(model).generate(
        [asked(2, temperature=0.0, logprobs=True), asked(2, temperature=1.0, top_p=1e-6, logprobs=True)]
    )
    assert greedy.text == narrow.text
    assert greedy.logprobs is not None
    assert len(greedy.logprobs) == greedy.usage.written
    assert narrow.logprobs is not None
    assert [value for _, value in narrow.logprobs] == pytest.approx([value for _, value in greedy.logprobs], abs=1e-4)
    assert all(value <= 0.0 for _, value in greedy.logprobs)


def test_a_stop_ends_a_reply_and_is_no_part_of_it(model: LocalModel) -> None:
    free = Client(model).generate(asked(1, temperature=1.0).samples(6))
    letters = [letter for one in free for letter in one.text[1:] if letter.isascii() and letter.isalnum()]
    stop = letters[0]
    held = Client(model).generate(asked(1, temperature=1.0, stop=(stop,)).samples(6))
    assert [one.text for one in held] == [one.text.split(stop)[0] for one in free]
    assert [one.cut for one in held] == [one.cut and stop not in one.text for one in free]
    assert any(stop in one.text for one in free)
    with pytest.raises(ValueError, match="stop"):
        Sampling(stop=("",))


def test_what_is_too_long_costs_only_its_row(model: LocalModel) -> None:
    long, short = Client(model).generate([asked(9_000), asked(1)])
    assert long.failure is not None
    assert (long.failure.kind, short.ok) == ("refused", True)
    assert model.identity["revision"] != ""


def test_text_that_no_tokenizer_takes_costs_only_its_row(model: LocalModel) -> None:
    bad, good = Client(model).generate([Request((Message("user", "caf\udce9"),)), asked(1)])
    assert (bad.failure and bad.failure.kind, good.ok) == ("refused", True)


def test_weights_tell_models_apart_whatever_their_files_are_called(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="no weights"):
        weights_of(FoundModel("m", tmp_path, "path"))
    (tmp_path / "pytorch_model.bin").write_bytes(b"1")
    first = weights_of(FoundModel("m", tmp_path, "path"))
    (tmp_path / "pytorch_model.bin").write_bytes(b"2")
    assert weights_of(FoundModel("m", tmp_path, "path")) != first


def test_vllms_answers_are_those_of_the_weights_and_not_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    names = []
    for content in (b"1", b"2"):
        (tmp_path / "model.safetensors").write_bytes(content)
        names.append(open_writer(f"{ENGINE}{tmp_path}").identity)
    assert names[0] != names[1]


def test_a_template_without_a_systems_role_is_given_its_words(model: LocalModel) -> None:
    messages = (Message("system", "Be brief."), Message("user", "Who?"))
    refusing = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    before = model.tokenizer.chat_template
    model.tokenizer.chat_template = refusing + before
    try:
        text = model.tokenizer.decode(prompt_ids(messages, model.tokenizer))
    finally:
        model.tokenizer.chat_template = before
    assert text == "<|user|>Be brief.\n\nWho?<|end|><|assistant|>"
    assert without_system([Message("system", "a")]) == [Message("user", "a")]


def test_a_prompt_is_the_same_on_every_day(model: LocalModel) -> None:
    dated = deepcopy(model.tokenizer)
    dated.chat_template = "Today is {{ strftime_now('%d %b %Y, %f') }}. {{ messages[0]['content'] }}"
    assert dated.decode(prompt_ids([Message("user", "Which?")], dated)) == "Today is 26 Jul 2024, 000000. Which?"


def test_a_thought_that_a_template_begins_is_the_models(model: LocalModel) -> None:
    """A reply without its beginning would be taken for an answer from its first word on."""
    thinking = deepcopy(model.tokenizer)
    thinking.chat_template = f"{model.tokenizer.chat_template}<think>\n"
    asked = [Message("user", "Which?")]
    assert prompt_ids(asked, thinking) == prompt_ids(asked, model.tokenizer)


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelMissing, match="cannot be loaded"):
        open_local(str(tmp_path), network=False)
