"""The agent's tokens are those of its turns, counted by another way of tokenising; what it saw is never among them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from train.tiny import make_tiny_model

from agro_data.protocol import Step, Turn, render_transcript
from agro_train.language_model.loading import load_tokenizer
from agro_train.language_model.tokens import OUTSIDE, Tokens, encode, encode_prompt, encode_steps, text_of

WORDS = st.text("abcdefghij 0123456789'=*,<", min_size=1, max_size=40).map(str.strip).filter(bool)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_tokenizer(make_tiny_model(tmp_path_factory.mktemp("tiny")))


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[Step, ...]:
    looks = draw(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=4))
    steps = [Step(Turn(thought, "sql", sql), seen) for thought, sql, seen in looks]
    return (*steps, Step(Turn(draw(WORDS), "solution", draw(WORDS))))


@settings(max_examples=60, deadline=None)
@given(steps=transcripts())
def test_agent_tokens_against_an_independent_tokenisation(tokenizer: Any, steps: tuple[Step, ...]) -> None:
    """The whole transcript at once, with offsets: the agent wrote what does not stand in an observation."""
    tokens = encode_steps("Which?", steps, tokenizer)
    text = render_transcript(steps)
    assert tokenizer.decode(tokens.ids[:-1]) == text
    seen = []
    place = 0
    while (start := text.find("\n<observation>", place)) >= 0:
        end = text.index("</observation>\n", start) + len("</observation>\n")
        seen.append(range(start, end))
        place = end
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    written = sum(not any(start in part for part in seen) for start, _ in offsets)
    assert sum(tokens.mask) == written + 1  # and the token that ends the message
    assert tokens.ids[-1] == tokenizer.eos_token_id


@settings(max_examples=30, deadline=None)
@given(steps=transcripts())
def test_turns_are_numbered_and_nothing_is_lost(tokenizer: Any, steps: tuple[Step, ...]) -> None:
    tokens = encode_steps("Which?", steps, tokenizer)
    assert tokens.so_far == encode_prompt("Which?", tokenizer) + tokens.ids
    assert len(tokens.ids) == len(tokens.turns) == len(tokens.logprobs)
    assert sorted(set(tokens.turns) - {OUTSIDE}) == list(range(len(steps)))
    assert (OUTSIDE in tokens.turns) == (len(steps) > 1)


@given(st.lists(st.lists(st.booleans(), max_size=4), max_size=4), st.integers(0, 16))
def test_a_copy_of_what_was_written_first_has_its_places(turns: list[list[bool]], count: int) -> None:
    """`turned` says of each place of a turn whether the agent was turned to it; the token says so, too."""
    tokens = Tokens([7])
    for number, turned in enumerate(turns):
        tokens.wrote([*map(int, turned)], number, turned=[place for place, one in enumerate(turned) if one])
        tokens.saw([0])
    assert tokens.turned == {place for place, token in enumerate(tokens.ids) if token}
    copy = tokens.first(count)
    assert (copy.ids, copy.turns) == (tokens.ids[:count], tokens.turns[:count])
    assert copy.turned == {place for place, token in enumerate(copy.ids) if token}
    copy.wrote([1], 9, turned=[0])
    assert len(tokens.ids) == sum(len(turned) + 1 for turned in turns)


def test_a_prompt_is_the_same_on_every_day(tokenizer: Any) -> None:
    """Llama 3.2's template, and others, say which day it is."""
    dated = deepcopy(tokenizer)
    dated.chat_template = "Today is {{ strftime_now('%d %b %Y, %f') }}. {{ messages[0]['content'] }}"
    assert dated.decode(encode_prompt("Which?", dated)) == "Today is 26 Jul 2024, 000000. Which?"


@pytest.mark.parametrize("begun", ["<think>\n", "<think>"])
def test_a_thought_that_a_template_begins_is_the_agents(tokenizer: Any, begun: str) -> None:
    """It is no part of what the agent writes, and a turn without it cannot be read."""
    thinking = deepcopy(tokenizer)
    thinking.chat_template = f"{tokenizer.chat_template}{begun}"
    assert encode_prompt("Which?", thinking) == encode_prompt("Which?", tokenizer)


def test_a_tag_is_said_where_it_is_special_to_the_tokenizer(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path)
    special = load_tokenizer(folder)
    special.add_special_tokens({"additional_special_tokens": ["<think>", "</think>", "<|tool|>"]})
    special.save_pretrained(folder)
    tokenizer, turn = load_tokenizer(folder), "<think>so</think>\n<sql>SELECT 1</sql>"
    assert text_of(encode(f"<|tool|>{turn}<|end|>", tokenizer), tokenizer) == turn
