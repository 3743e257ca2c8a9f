"""The transcript: what an agent writes, what the database answers, and how either is read.

    <think>…</think><sql>…</sql>  →  <observation>…</observation>  →  …  →  <think>…</think><solution>…</solution>

The tags are SkyRL-SQL's, and `<clarify>`, which ends a transcript if no query would answer. A turn is one thought and
one action, and ends at the tag that closes that. The parser is total: any string gives a `Turn`, or a `Malformed` with
one of the classes in `Malformation`. Whatever comes from a database or a person passes `inert`, so that no cell, name
or question can stand for a tag.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from unicodedata import category

from agro_data.databases.files.number_texts import shortest
from agro_data.databases.types import Cell, Dialect, Result
from agro_data.fences import unfenced

Action = Literal["sql", "solution", "clarify"]

VERSION = 4  # raise when prompts, turns or observations are written otherwise: a model reads what it was trained on

MAX_TURNS = 6
MAX_TURN = 8_000  # characters of one turn
STOPS = ("</sql>", "</solution>", "</clarify>")

Malformation = Literal[
    "too_long",  # more than MAX_TURN characters
    "empty",  # nothing but white space
    "no_tag",  # words, but no tag at all
    "no_thought",  # an action without a thought before it
    "no_action",  # a thought without an action after it
    "unclosed",  # a tag that is never closed
    "nested",  # a tag inside a thought
    "tag_inside",  # a tag inside SQL
    "two_actions",  # something after the first action that is an action, too
    "wrong_order",  # a closing tag that closes nothing, or a thought after the action
    "forged_observation",  # the agent writes the database's answer itself
    "text_outside",  # words before the thought, or between thought and action
    "text_after",  # words after the action
    "empty_thought",
    "empty_action",
]

_TAG = re.compile(r"<(?P<close>/?)(?P<name>think|sql|observation|solution|clarify)>")
# Also special tokens of chat templates: <|im_end|>, </s>, DeepSeek's with a wide bar, and those in brackets, by their
# names: of Mistral, GLM and InternLM, and EXAONE's with bars. Other brackets are names and places in a list.
_BRACKETED = (
    r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|CONTENT|RESULTS)|MODEL_SETTINGS|ARGS|CALL_ID|THINK)"
    r"|IMG(?:_BREAK|_END)?|(?:BEGIN_)?AUDIO|PREFIX|MIDDLE|SUFFIX|control_\d+|[gs]?MASK|UNUSED_TOKEN_\d+|\|\w+\|"
)
_LOOKS_LIKE_TAG = re.compile(rf"[<＜﹤](?=[/|｜!?\w])|\[(?=(?:{_BRACKETED})\])")
_OPENED = re.compile(r"<(sql|solution|clarify)>(?!.*</\1>)", re.DOTALL)
ENGINES = {"sqlite": "SQLite", "duckdb": "DuckDB"}
_ACTIONS: dict[str, Action] = {"sql": "sql", "solution": "solution", "clarify": "clarify"}
_QUESTION = "\n\nQuestion: "  # after the schema
_BREAK = re.compile(r"\s*[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")  # of lines, with what indents the next
_WRITTEN = frozenset("\n\u200c\u200d")  # joiners: parts of words as Persian, Hindi and emoji are written
_TYPED = str.maketrans("\u00a0\u202f", "  ")  # set before "?" and ":" in French; no one types them into a value
_DOUBLE_DIGITS = 15  # what is written with more and is a FLOAT all the same has come from one


@dataclass(frozen=True)
class Turn:
    """One thought and one action. `text` is what the action says: SQL, or words to whoever asked.

    Both are stripped, not empty, and hold no tag.
    """

    thought: str
    action: Action
    text: str

    def __post_init__(self) -> None:
        for what, text in (("thought", self.thought), ("action", self.text)):
            if not text or text != text.strip():
                raise ValueError(f"a turn's {what} must be stripped and not empty: {text[:60]!r}")
            if _TAG.search(text):
                raise ValueError(f"a turn's {what} must not hold a tag: {text[:60]!r}")


@dataclass(frozen=True)
class Malformed:
    """`kind` is the class; `detail` says it to a person."""

    kind: Malformation
    detail: str


@dataclass(frozen=True)
class Step:
    """A turn and what came back. A solution gets no observation: None."""

    turn: Turn
    observation: str | None = None


@dataclass(frozen=True)
class Bounds:
    """How much of a result an observation shows; whatever is left out is said."""

    rows: int = 5
    columns: int = 12
    cell: int = 60  # characters
    text: int = 1_500  # characters of the whole observation, without its tags


BOUNDS = Bounds()


# --- turns -------------------------------------------------------------------------------------------------------


def render_turn(turn: Turn) -> str:
    """The text of a turn; `parse_turn` gives the turn back."""
    return f"<think>{turn.thought}</think>\n<{turn.action}>{turn.text}</{turn.action}>"


def parse_turn(text: str) -> Turn | Malformed:
    """The turn that an agent wrote, or what is wrong with it. Never raises."""
    if len(text) > MAX_TURN:
        return Malformed("too_long", f"{len(text):,} characters; a turn has at most {MAX_TURN:,}")
    if not text.strip():
        return Malformed("empty", "the turn is empty")
    tags = list(_TAG.finditer(text))
    if not tags:
        return Malformed("no_tag", "no tag; a turn is <think>…</think> and then <sql>…</sql> or <solution>…</solution>")
    if any(tag["name"] == "observation" for tag in tags):
        return Malformed("forged_observation", "an observation is written by the database, not by the agent")
    wrong = _opening(text, tags) or _thinking(text, tags) or _acting(text, tags)
    if wrong is not None:
        return wrong
    thought = text[tags[0].end() : tags[1].start()].strip()
    action = _ACTIONS[tags[2]["name"]]
    said = text[tags[2].end() : tags[3].start()].strip()
    if (block := unfenced(said)) is not None:  # as many models write SQL, wherever they write it
        said = block
    if not thought:
        return Malformed("empty_thought", "<think> holds nothing")
    if not said:
        return Malformed("empty_action", f"<{action}> holds nothing")
    return Turn(thought, action, said)


def _opening(text: str, tags: Sequence[re.Match[str]]) -> Malformed | None:
    first = tags[0]
    if first["close"]:
        return Malformed("wrong_order", f"{first[0]} closes what was never opened")
    if first["name"] != "think":
        return Malformed("no_thought", f"{first[0]} without a <think> before it")
    if text[: first.start()].strip():
        return Malformed("text_outside", "there is text before <think>")
    return None


def _thinking(text: str, tags: Sequence[re.Match[str]]) -> Malformed | None:
    """What is wrong from `<think>` up to the tag that opens the action."""
    if len(tags) == 1:
        return Malformed("unclosed", "<think> is never closed")
    if tags[1][0] != "</think>":
        closed = any(tag[0] == "</think>" for tag in tags)
        return Malformed("nested" if closed else "unclosed", f"<think> is not closed before {tags[1][0]}")
    if len(tags) == 2:
        return Malformed("no_action", "the thought is not followed by <sql>, <solution> or <clarify>")
    if tags[2]["close"] or tags[2]["name"] == "think":
        return Malformed("wrong_order", f"{tags[2][0]} where an action is expected: <sql>, <solution> or <clarify>")
    if text[tags[1].end() : tags[2].start()].strip():
        return Malformed("text_outside", "there is text between the thought and the action")
    return None


def _acting(text: str, tags: Sequence[re.Match[str]]) -> Malformed | None:
    """What is wrong from the tag that opens the action up to the end."""
    opened = tags[2]["name"]
    closing = next((place for place, tag in enumerate(tags) if place > 2 and tag[0] == f"</{opened}>"), None)
    if closing is None:
        return Malformed("unclosed", f"<{opened}> is never closed")
    if closing > 3:
        return Malformed("tag_inside", f"{tags[3][0]} stands inside <{opened}>")
    after = tags[4:]
    if any(not tag["close"] and tag["name"] != "think" for tag in after):
        return Malformed("two_actions", "a turn has one action; it ends where its first action is closed")
    if after:
        return Malformed("wrong_order", f"{after[0][0]} stands after the action")
    if text[tags[3].end() :].strip():
        return Malformed("text_after", "there is text after the action")
    return None


def is_tag(text: str) -> bool:
    """Whether a text is a tag of the transcript, and nothing else."""
    return _TAG.fullmatch(text) is not None


def untagged(text: str) -> str:
    """Text in which nothing is a tag of the transcript; all else stays as it is."""
    return _TAG.sub(lambda tag: f"‹{tag[0][1:]}", text)


def with_end(text: str) -> str:
    """What a model wrote up to a stop, with the closing tag that the stop took away."""
    opened = _OPENED.search(text)
    return f"{text}</{opened[1]}>" if opened else text


# --- observations and prompts ------------------------------------------------------------------------------------


def inert(text: str) -> str:
    """Text in which nothing is a tag or a chat template's special token; what no one can see is a space.

    Other spaces and joiners stay: SQL that compares with "山田　太郎" finds nothing by a plain space.
    """
    plain = "".join(character if _is_seen(character) else " " for character in text)
    return _LOOKS_LIKE_TAG.sub("‹", plain)


def _is_seen(character: str) -> bool:
    return character.isprintable() or character in _WRITTEN or category(character) == "Zs"


def render_observation(result: Result, turns_left: int, bounds: Bounds = BOUNDS) -> str:
    """What the agent sees of a result that was fetched with its rows: at most `bounds.text` characters, without tags.

    Columns, the first rows, the row count and the turns that are left; or the error.
    """
    return _rendered(result, "1 turn left" if turns_left == 1 else f"{turns_left} turns left", bounds)


def render_result(result: Result) -> str:
    """The same where nobody's turn it is: columns, the first rows and the row count; or the error."""
    return _rendered(result, "", BOUNDS)


def _rendered(result: Result, left: str, bounds: Bounds) -> str:
    if not result.ok:
        body, said = f"Error: {_line(result.error or result.status, bounds.text)}", [left]
    else:
        body, shown = _table(result, bounds)
        rows = "1 row" if result.row_count == 1 else f"{result.row_count} rows"
        said = [rows, "" if shown == result.row_count else f"the first {shown} shown", left]
    last = ", ".join(filter(None, said))
    room = max(0, bounds.text - len(last) - 4)
    return (body if len(body) <= room else body[:room] + "…") + (f"\n({last})" if last else "")


def _table(result: Result, bounds: Bounds) -> tuple[str, int]:
    """Header and rows, as many as there is room for, and how many rows that are."""
    more = [f"… {len(result.columns) - bounds.columns} more columns"] if len(result.columns) > bounds.columns else []
    lines = [" | ".join([*(_line(name, bounds.cell) for name in result.columns[: bounds.columns]), *more])]
    room = bounds.text - len(lines[0]) - 80  # the last line takes less
    for row in result.rows[: bounds.rows]:
        line = " | ".join(_cell(cell, bounds.cell) for cell in row[: bounds.columns])
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return "\n".join(lines), len(lines) - 1


def _cell(cell: Cell, width: int) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return _line(f"x'{cell[:width].hex()}'", width)
    return _line(number_text(cell) if isinstance(cell, float) else str(cell), width)


def number_text(value: float) -> str:
    """A number with no more digits than it holds."""
    text = str(value)
    return text if len(text) <= _DOUBLE_DIGITS else str(shortest(value))


def _line(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    flat = inert(_BREAK.sub(" ", text[: 4 * width]))
    return flat if len(flat) <= width and len(text) <= 4 * width else flat[: width - 1] + "…"


def wrap_observation(body: str) -> str:
    """An observation as it is given to the agent."""
    return f"\n<observation>\n{body}\n</observation>\n"


def render_prompt(
    schema: str,
    question: str,
    dialect: Dialect,
    *,
    evidence: str | None = None,
    said: str = "",
    max_turns: int = MAX_TURNS,
    clarify: bool = False,
    direct: bool = False,
) -> str:
    """What the agent is given first. `schema` is text of `profiling.serialising.serialise`, `said` of
    `profiling.serialising.said_values`; nothing in them can stand for a tag.

    `clarify`: it is told that it may ask back, which is for agents that were trained with such questions. `direct`: it
    is asked for the query at once (`agro_train.direct` reads it), which is for models that know no turns.
    """
    back = ", or <clarify>what is missing, or which of several is meant</clarify>" if clarify else ""
    hint = f"\nEvidence: {inert(evidence)}" if evidence else ""
    named = f"\nNamed: {inert(said)}" if said else ""
    how = (
        "Write it in a block of ```sql, and nothing after it."
        if direct
        else "A turn is <think>why</think> and either "
        "<sql>a look at the data</sql>, which an <observation> answers, or, as the end, "
        f"<solution>the query</solution>{back}. At most {max_turns} turns."
    )
    return (
        f"Answer the question with one {ENGINES[dialect]} query. {how}\n\n"
        f"{inert(schema).rstrip()}{_QUESTION}{inert(question.translate(_TYPED))}{hint}{named}\n"
    )


def before_question(prompt: str) -> str:
    """What a prompt of `render_prompt` says before it asks: the same for all that are shown the same schema."""
    return prompt.rpartition(_QUESTION)[0]


# --- whole transcripts -------------------------------------------------------------------------------------------


def render_transcript(steps: Sequence[Step]) -> str:
    """Turns and observations as one text, as the agent has seen it after the prompt."""
    return "".join(
        render_turn(step.turn) + ("" if step.observation is None else wrap_observation(step.observation))
        for step in steps
    )


def parse_transcript(text: str, most: int = MAX_TURNS) -> tuple[Step, ...] | Malformed:
    """The steps of a transcript; the last one may lack its observation. Never raises.

    Beside the classes of a turn: `unclosed` for an observation without an end, `wrong_order` for a query that is not
    answered or a solution that is not the end, `too_long` for more than `most` turns.
    """
    steps: list[Step] = []
    rest = text
    while rest.strip():
        if len(steps) == most:
            return Malformed("too_long", f"more than {most} turns")
        if steps and (steps[-1].observation is None or steps[-1].turn.action != "sql"):
            return Malformed("wrong_order", "a turn follows a query without an answer, or the end")
        before, opened, after = rest.partition("<observation>")
        turn = parse_turn(before)
        if isinstance(turn, Malformed):
            return turn
        body, closed, rest = after.partition("</observation>")
        if opened and not closed:
            return Malformed("unclosed", "<observation> is never closed")
        if opened and _TAG.search(body):
            return Malformed("tag_inside", "a tag stands inside <observation>")
        steps.append(Step(turn, body.strip() if opened else None))
    return tuple(steps) if steps else Malformed("empty", "the transcript is empty")
