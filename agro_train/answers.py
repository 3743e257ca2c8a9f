"""A model's answers: each question with its attempts, transcripts and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.hashing import stable_hash
from agro_train.decoding import GREEDY, Decoded, Decoding, decode
from agro_train.language_model.tokens import text_of
from agro_train.rollouts import Policy
from agro_train.tasks import Task

_OF_EACH = ("predictions", "outcomes", "transcripts", "votes", "turns")
_KINDS = (
    (str, "text", ("example_id", "db_id", "question", "gold", "asked", "refusal")),
    (int | float, "a number", ("read", "written", "seconds", "latency")),
    (bool, "true or false", ("answerable",)),
    (list, "a list", _OF_EACH),
)
_KINDS_OF_EACH = ((str, "texts", _OF_EACH[:3]), (int, "whole numbers", _OF_EACH[3:]))


@dataclass(frozen=True)
class Answer:
    """`predictions`, `outcomes`, `transcripts`, `votes` and `turns` stand side by side, the chosen attempt first.

    A prediction is "" where the rollout ended without an answer. A transcript is what stands after the prompt, as it
    was written. `db_id` is as the question's row spells it. `read` and `written` count tokens; `seconds` is the equal
    part of what was answered together, `latency` how long a server was waited for (0: a model that runs here). `asked`
    is a hash of the prompt, the gold and the database. `refusal` is why a turn was not written. To a question that is
    not `answerable` no SQL is right, and `agro evaluate` leaves it out.
    """

    example_id: str
    db_id: str
    question: str
    gold: str
    predictions: tuple[str, ...]
    outcomes: tuple[str, ...]
    transcripts: tuple[str, ...]
    votes: tuple[int, ...]
    turns: tuple[int, ...]
    read: int
    written: int
    seconds: float
    asked: str = ""
    refusal: str = ""
    latency: float = 0.0
    answerable: bool = True

    def as_dict(self) -> dict[str, Any]:
        """A line of a file of predictions: `pred` is what `agro evaluate` scores."""
        return {"pred": self.predictions[0], **{key: _plain(value) for key, value in asdict(self).items()}}

    @classmethod
    def from_dict(cls, line: dict[str, Any]) -> Answer:
        """The answer of such a line. Raises `KeyError` when it lacks something, `ValueError` when it holds another kind
        of value, or a `pred` that is not its first prediction."""
        whole = {"asked": "", "refusal": "", "latency": 0.0, "answerable": True, **line}  # files from before have none
        for kind, what, names in _KINDS:
            if wrong := next((name for name in names if not isinstance(whole[name], kind)), ""):
                raise ValueError(f"`{wrong}`: expected {what}")
        for of_each, what, lists in _KINDS_OF_EACH:
            if wrong := next((name for name in lists if not all(isinstance(one, of_each) for one in whole[name])), ""):
                raise ValueError(f"`{wrong}`: expected a list of {what}")
        if len({len(whole[name]) for name in _OF_EACH}) != 1 or not whole["predictions"]:
            raise ValueError(f"{', '.join(_OF_EACH)}: expected lists of one length, and not empty")
        if line.get("pred", whole["predictions"][0]) != whole["predictions"][0]:
            raise ValueError("`pred` is not the first of `predictions`, from which an answer is read: change both")
        return cls(**{one.name: _frozen(whole[one.name]) for one in fields(cls)})


def answer(
    tasks: Sequence[Task], policy: Policy, sandbox: Sandbox, decoding: Decoding = GREEDY, seed: int = 0
) -> list[Answer]:
    """What a model answers to each task, in order; all are worked on together."""
    return [_answer(one, policy.tokenizer) for one in decode(tasks, policy, sandbox, decoding, seed)]


def _answer(found: Decoded, tokenizer: Any) -> Answer:
    task, leaves = found.task, found.leaves
    return Answer(
        example_id=task.example_id,
        db_id=task.db_id or task.database.db_id,
        question=task.question,
        gold=task.gold,
        predictions=tuple(leaf.rollout.env.solution for leaf in leaves),
        outcomes=tuple(str(leaf.rollout.env.outcome) for leaf in leaves),
        transcripts=tuple(text_of(leaf.rollout.tokens.ids, tokenizer).strip() for leaf in leaves),
        votes=tuple(leaf.votes for leaf in leaves),
        turns=tuple(leaf.rollout.env.turns for leaf in leaves),
        read=found.read,
        written=found.written,
        seconds=round(found.seconds, 4),
        asked=asked(task),
        latency=round(found.latency, 4),
        refusal=next((leaf.rollout.refusal for leaf in leaves if leaf.rollout.refusal), ""),
        answerable=task.answerable,
    )


def asked(task: Task) -> str:
    """The identity of a question: a hash of the prompt, the gold and the content of the database."""
    return stable_hash([task.prompt, task.gold, task.database.content_hash])[:16]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
