"""Queries that a model writes at once: how it is asked for one, and in which forms it is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.protocol import Malformed, Turn, before_question, parse_turn, render_prompt, render_turn
from agro_train.direct import MAX_THOUGHT, NO_THOUGHT, read_direct

QUERY = "SELECT name FROM school WHERE city = 'A;b'"


@pytest.mark.parametrize(
    ("reply", "thought"),
    [
        (f"```sql\n{QUERY}\n```", NO_THOUGHT),
        (f"```SQLite\n{QUERY}\n```\nThis lists the names.", NO_THOUGHT),
        (f"We need names.\n\n```sql\n{QUERY}```", "We need names."),
        (f"First:\n```sql\nSELECT 1\n```\nBetter:\n```sql\n{QUERY}\n```\n", "First:\n```sql\nSELECT 1\n```\nBetter:"),
        (f"```python\nprint(1)\n```\n```sql\n{QUERY}\n```", "```python\nprint(1)\n```"),
        (f"```sql\n{QUERY}\n```\n```\n```", NO_THOUGHT),
        (f"```sql\n{QUERY}\n```\nIt gives:\n```\n| name |\n```", NO_THOUGHT),
        (f"So:\n```\n{QUERY}\n```", "So:"),
        (f"<think>The city,\nthen the name.</think>\n\n```sql\n{QUERY}\n```", "The city,\nthen the name."),
        (f"It has ```sql\nSELECT 0\n``` in it.</think><answer>```sql\n{QUERY}\n```</answer>", None),
        (f"<think>names</think><solution>{QUERY}</solution>", "names"),
        (f"<think>names</think>\n<sql>{QUERY}</sql>", "names"),
        (f"names\n<solution>{QUERY}", "names"),
        (f"<answer>\n{QUERY}\n</answer>", NO_THOUGHT),
        (QUERY, NO_THOUGHT),
        (f"  {QUERY};\n\nThe query lists names; it is short.", NO_THOUGHT),
        (f"With this query you get them.\n\n{QUERY};\nIt lists names.", "With this query you get them."),
    ],
)
def test_a_query_is_found_in_whatever_form_it_is_written(reply: str, thought: str | None) -> None:
    found = read_direct(reply)
    assert isinstance(found, Turn)
    assert (found.action, found.text) == ("solution", QUERY)
    assert thought in (None, found.thought)


@pytest.mark.parametrize("with_", ["WITH a AS", "with recursive a (n, m) AS", 'WITH "ab"AS', "WITH a(n)AS"])
def test_a_query_may_begin_with_others(with_: str) -> None:
    query = f"{with_} (SELECT 1\nUNION SELECT 2)\nSELECT * FROM a"
    found = read_direct(f"Here it is:\n{query};")
    assert isinstance(found, Turn)
    assert found.text == query


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (" \n", "no_action"),
        ("I cannot answer this.", "no_action"),
        ("With the tables given, as I see, nothing can be said.", "no_action"),
        ("<think>which one?</think><clarify>Which of both?</clarify>", "no_action"),
        ("```python\nprint(1)\n```", "no_action"),
        ("```sql\n\n```", "no_action"),
        (f"```sql\nSELECT '{'x' * 20_000}'\n```", "no_action"),
    ],
)
def test_what_is_no_query_is_told(reply: str, kind: str) -> None:
    found = read_direct(reply)
    assert isinstance(found, Malformed)
    assert found.kind == kind
    assert found.detail


@pytest.mark.parametrize("form", ["{}", "```sql\n{}", "<answer>{}"])
def test_a_query_that_was_cut_is_none(form: str) -> None:
    reply = form.format(QUERY)
    assert isinstance(read_direct(reply), Turn)  # the model ended there by itself
    assert isinstance(read_direct(reply, cut=True), Malformed)
    assert isinstance(read_direct(f"{form.format(QUERY)};\n\nQuestion: and", cut=True), Turn) == ("`" not in form)
    assert isinstance(read_direct(f"```sql\n{QUERY}\n```\nThis query selects the", cut=True), Turn)


PIECES = st.sampled_from(
    [
        *("```sql\n", "```", "\n", " ", "SELECT 1", "WITH a AS (", ";", "<think>", "</think>", "<sql>", "</sql>"),
        *("<answer>", "</answer>", "<solution>", "</solution>", "<observation>", "<clarify>", "so:", "x"),
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join), st.booleans())
def test_any_reply_is_read(reply: str, cut: bool) -> None:
    found = read_direct(reply, cut=cut)
    if isinstance(found, Turn):  # which a transcript can hold
        assert found.action == "solution"
        assert parse_turn(render_turn(found)) == found or "```" in found.text


@pytest.mark.parametrize("piece", ["<think>", "```sql\n", "<sql>", "SELECT ", "WITH a (", "with ", ":", "\n:SELECT;x"])
def test_a_long_reply_is_read_at_once(piece: str) -> None:
    """No pattern goes over it again and again: a minute if one did."""
    read_direct(piece * 20_000)
    read_direct("a" + piece * 20_000, cut=True)


def test_of_long_words_the_last_are_kept() -> None:
    found = read_direct(f"first {'word ' * MAX_THOUGHT} last\n```sql\n{QUERY}\n```")
    assert isinstance(found, Turn)
    assert found.thought.endswith("last")
    assert "first" not in found.thought
    assert len(found.thought) <= MAX_THOUGHT + 1


def test_who_is_asked_for_a_query_at_once_is_told_of_no_turns() -> None:
    turns, direct = (render_prompt("t(a)", "Which a?", "duckdb", said="t( a)", direct=one) for one in (False, True))
    assert "<" not in direct
    assert "turn" not in direct
    assert "DuckDB" in direct
    assert direct.partition("t(a)")[2] == turns.partition("t(a)")[2]
    assert before_question(direct).endswith("t(a)")
