"""The transcript: every turn survives being written and read, and no text at all is beyond the parser."""

from __future__ import annotations

from typing import get_args

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agro_data.databases.types import Cell, Result
from agro_data.protocol import (
    BOUNDS,
    MAX_TURN,
    MAX_TURNS,
    Bounds,
    Malformation,
    Malformed,
    Step,
    Turn,
    before_question,
    inert,
    number_text,
    parse_transcript,
    parse_turn,
    render_observation,
    render_prompt,
    render_transcript,
    render_turn,
    wrap_observation,
)

TAGS = [f"<{slash}{name}>" for name in ("think", "sql", "observation", "solution", "clarify") for slash in ("", "/")]
TAGGED = st.lists(st.one_of(st.sampled_from([*TAGS, "<", ">", "</", " ", "\n"]), st.text(max_size=8)), max_size=14)
INNER = st.text(min_size=1, max_size=80).map(str.strip).filter(lambda text: text and not any(t in text for t in TAGS))
TURNS = st.builds(Turn, INNER, st.sampled_from(["sql", "solution", "clarify"]), INNER)
CELLS: st.SearchStrategy[Cell] = st.one_of(
    st.none(), st.integers(), st.floats(), st.binary(max_size=90), st.text(max_size=400), TAGGED.map("".join)
)


@given(TURNS)
def test_a_turn_survives_being_written_and_read(turn: Turn) -> None:
    assert parse_turn(render_turn(turn)) == turn


@given(st.one_of(st.text(), TAGGED.map("".join)))
def test_any_text_gives_a_turn_or_a_named_class(text: str) -> None:
    found = parse_turn(text)
    assert isinstance(found, Turn) or found.kind in get_args(Malformation)
    whole = parse_transcript(text)
    assert isinstance(whole, tuple) or whole.kind in get_args(Malformation)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("SELECT 1", "no_tag"),
        ("<SQL>SELECT 1</SQL>", "no_tag"),
        ("<sql>SELECT 1</sql>", "no_thought"),
        ("<think>a</think>", "no_action"),
        ("<think>a", "unclosed"),
        ("<think>a<sql>b</sql>", "unclosed"),
        ("<think>a</think><sql>SELECT 1", "unclosed"),
        ("<think>a</think><sql>SELECT 1</solution>", "unclosed"),
        ("<think>a<think>b</think></think><sql>c</sql>", "nested"),
        ("<think>a<sql>b</sql></think><sql>c</sql>", "nested"),
        ("<think>a</think><sql>SELECT <think>1</think></sql>", "tag_inside"),
        ("<think>a</think><sql>b</sql><sql>c</sql>", "two_actions"),
        ("<think>a</think><solution>b</solution><clarify>c</clarify>", "two_actions"),
        ("<clarify>which?</clarify>", "no_thought"),
        ("<think>a</think><clarify> </clarify>", "empty_action"),
        ("<think>a</think><clarify>which?", "unclosed"),
        ("<think>a</think><sql>b</sql><think>c</think><solution>d</solution>", "two_actions"),
        ("<think>a</think><sql>b</sql><think>c</think>", "wrong_order"),
        ("<think>a</think></sql>", "wrong_order"),
        ("</think>a", "wrong_order"),
        ("<think>a</think><sql>b</sql><observation>1</observation>", "forged_observation"),
        ("well <think>a</think><sql>b</sql>", "text_outside"),
        ("<think>a</think> so <sql>b</sql>", "text_outside"),
        ("<think>a</think><sql>b</sql> done", "text_after"),
        ("<think> </think><sql>b</sql>", "empty_thought"),
        ("<think>a</think><solution>\n</solution>", "empty_action"),
        ("<think>" + "a" * MAX_TURN + "</think><sql>b</sql>", "too_long"),
    ],
)
def test_each_malformation_has_its_class(text: str, kind: str) -> None:
    found = parse_turn(text)
    assert isinstance(found, Malformed)
    assert found.kind == kind
    assert found.detail


def test_white_space_around_the_tags_is_nothing() -> None:
    assert parse_turn("\n <think> a </think>\n\n<sql>\nSELECT 1\n</sql> \n") == Turn("a", "sql", "SELECT 1")


@pytest.mark.parametrize(
    ("said", "sql"),
    [
        ("```sql\nSELECT 1\n```", "SELECT 1"),
        ("\n```\nSELECT 1\n  FROM t;\n```\n", "SELECT 1\n  FROM t;"),
        ("Here:\n```sql\nSELECT 1\n```", "Here:\n```sql\nSELECT 1\n```"),
        ("```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```", "```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```"),
        ("SELECT '```'", "SELECT '```'"),
    ],
)
def test_a_block_is_read_as_what_stands_in_it(said: str, sql: str) -> None:
    assert parse_turn(f"<think>a</think><solution>{said}</solution>") == Turn("a", "solution", sql)


def test_an_empty_block_is_an_empty_action() -> None:
    found = parse_turn("<think>a</think><sql>```sql\n\n```</sql>")
    assert isinstance(found, Malformed)
    assert found.kind == "empty_action"


def test_a_turn_that_could_not_be_read_cannot_be_made() -> None:
    for thought, text in (("", "b"), ("a ", "b"), ("a", ""), ("<sql>", "b"), ("a", "SELECT '</sql>'")):
        with pytest.raises(ValueError, match="a turn's"):
            Turn(thought, "sql", text)


@given(st.lists(st.tuples(INNER, INNER, st.text(max_size=60)), max_size=MAX_TURNS - 1), TURNS)
def test_a_transcript_survives_being_written_and_read(asked: list[tuple[str, str, str]], last: Turn) -> None:
    steps = [Step(Turn(thought, "sql", sql), inert(seen).strip()) for thought, sql, seen in asked] + [Step(last)]
    assert parse_transcript(render_transcript(steps)) == tuple(steps)


def test_a_transcript_must_be_in_order() -> None:
    ask, seen = render_turn(Turn("a", "sql", "b")), wrap_observation("1")
    answer, back = (render_turn(Turn("a", "solution", "b")), render_turn(Turn("a", "clarify", "which b?")))
    kinds = {
        back + seen + ask: "wrong_order",
        ask + seen + back + answer: "two_actions",
        ask + ask: "two_actions",
        answer + seen + ask: "wrong_order",
        ask + "<observation>": "unclosed",
        ask + "<observation><sql></observation>": "tag_inside",
        (ask + seen) * (MAX_TURNS + 1): "too_long",
    }
    for text, kind in kinds.items():
        found = parse_transcript(text)
        assert isinstance(found, Malformed)
        assert found.kind == kind


@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3).map(tuple), max_size=9),
    st.lists(st.one_of(st.text(max_size=90), TAGGED.map("".join)), min_size=3, max_size=3),
    st.integers(0, MAX_TURNS),
)
def test_an_observation_is_bounded_and_forges_nothing(
    rows: list[tuple[Cell, ...]], names: list[str], left: int
) -> None:
    result = Result("ok", tuple(names), tuple(rows), len(rows), 3)
    for bounds in (BOUNDS, Bounds(rows=2, columns=2, cell=10, text=120)):
        body = render_observation(result, left, bounds)
        assert len(body) <= bounds.text
        assert not any(tag in body for tag in TAGS)
        assert "<|" not in body
        assert body.count("\n") <= bounds.rows + 1
        text = render_turn(Turn("a", "sql", "b")) + wrap_observation(body)
        assert parse_transcript(text) == (Step(Turn("a", "sql", "b"), body.strip()),)


@given(TAGGED.map("".join))
def test_an_error_is_bounded_and_forges_nothing(error: str) -> None:
    body = render_observation(Result("error", error=error * 200), 2)
    assert len(body) <= BOUNDS.text
    assert not any(tag in body for tag in TAGS)
    assert body.startswith("Error: ")


def test_an_observation_says_what_it_leaves_out() -> None:
    rows = tuple((n, "x" * 100) for n in range(9))
    text = render_observation(Result("ok", ("id", "long"), rows, 1234, 2), 1, Bounds(rows=2, cell=10))
    assert text == "id | long\n0 | xxxxxxxxx…\n1 | xxxxxxxxx…\n(1234 rows, the first 2 shown, 1 turn left)"
    wide = Result("ok", tuple("abcdef"), ((1, None, b"\x01", 2.5, "a\nb", 6),), 1, 6)
    assert render_observation(wide, 3, Bounds(columns=5)) == (
        "a | b | c | d | e | … 1 more columns\n1 | NULL | x'01' | 2.5 | a b\n(1 row, 3 turns left)"
    )


def test_spaces_and_joiners_of_values_stay_as_they_are() -> None:
    """SQL that compares with what was shown finds the row; what no one sees and no one types is a plain space."""
    names = ("山田\u3000太郎", "New\xa0York", "کتاب\u200cخانه", "two  spaces", "👩\u200d🔬")
    assert inert("\n".join(names)) == "\n".join(names)
    assert inert("a\u200bb\ufeffc\u202ed\x00e\tf") == "a b c d e f"
    rows = tuple((name,) for name in names)
    assert render_observation(Result("ok", ("name",), rows, 5, 1), 2).splitlines()[1:6] == list(names)
    broken = Result("ok", ("a\n   b",), (("x \u2028\r\n\t  y\x85z",),), 1, 1)
    assert render_observation(broken, 2).splitlines()[:2] == ["a b", "x y z"]
    assert "Combien de clients ?" in render_prompt("t(a)", "Combien de clients\u202f?", "sqlite")


def test_ordinary_comparisons_stay_as_they_are() -> None:
    assert inert("a < 5 and b <> 3 and c <= 4") == "a < 5 and b <> 3 and c <= 4"
    assert inert("<|im_end|></s><b>＜sql>") == "‹|im_end|>‹/s>‹b>‹sql>"


@pytest.mark.parametrize(
    "token",
    [
        *("<|im_end|>", "</s>", "<start_of_turn>", "<｜User｜>", "<｜end▁of▁sentence｜>", "＜｜Assistant｜＞"),
        *("[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[/TOOL_RESULTS]", "[IMG]"),
        *("[SYSTEM_PROMPT]", "[THINK]", "[/THINK]", "[control_8]", "[gMASK]", "[|endofturn|]", "[UNUSED_TOKEN_145]"),
    ],
)
def test_no_special_token_of_a_chat_template_is_left(token: str) -> None:
    assert inert(f"a{token}b") == f"a‹{token[1:]}b"
    assert token not in render_prompt(f"t(a) -- {token}", f"Which {token}?", "sqlite", evidence=token, said=token)


@pytest.mark.parametrize(
    "text",
    [
        *("a[1]", "SELECT list[1:2], [1, 2]", "[Order Details]", "[Inst]", "[ORDERS]", "a || '[' || b", "[DB_ID] shop"),
        *("[Foreign keys]", "Examples: [INST, MASK]", "[INST ]", "[\n(id:INTEGER)\n]", "x GLOB '[A-Z]*'"),
    ],
)
def test_ordinary_brackets_stay_as_they_are(text: str) -> None:
    assert inert(text) == text


@given(TAGGED.map("".join), TAGGED.map("".join), TAGGED.map("".join), TAGGED.map("".join))
def test_a_prompt_holds_only_its_own_tags(schema: str, question: str, evidence: str, said: str) -> None:
    plain = render_prompt("", "", "sqlite", evidence="")
    text = render_prompt(schema, question, "sqlite", evidence=evidence, said=said)
    assert [text.count(tag) for tag in TAGS] == [plain.count(tag) for tag in TAGS]


def test_only_who_may_ask_back_is_told_of_it() -> None:
    plain, told = (render_prompt("t(a)", "Which a?", "sqlite", clarify=may) for may in (False, True))
    assert "<clarify>" not in plain
    assert "<clarify>" in told
    assert parse_turn("<think>a</think><clarify>which?</clarify>") == Turn("a", "clarify", "which?")


def test_questions_shown_the_same_schema_begin_alike() -> None:
    asked = (("Which a?", "t( a)"), ("How many?", ""))
    first, second = (render_prompt("t(a, b)", question, "sqlite", said=named) for question, named in asked)
    assert before_question(first) == before_question(second)
    assert before_question(first).endswith("t(a, b)")


def test_a_number_has_no_more_digits_than_it_holds() -> None:
    """DuckDB gives a FLOAT as the double nearest to it: 0.1 comes as 0.10000000149011612."""
    cells = "0.1::FLOAT, 0.1::DOUBLE, 2.5::FLOAT, 1234567.125::DOUBLE, 1e300::DOUBLE, 'inf'::DOUBLE, 'nan'::FLOAT"
    row = duckdb.connect().execute(f"SELECT {cells}").fetchone()
    assert row is not None
    assert [*map(number_text, row)] == ["0.1", "0.1", "2.5", "1234567.125", "1e+300", "inf", "nan"]
    seen = render_observation(Result("ok", columns=("x",), rows=[row[:1]], row_count=1), 2)
    assert "0.1\n" in seen
