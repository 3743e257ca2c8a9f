"""What is read from a person's files: pairs of question and SQL, and predictions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from agro_data.rows import LoadProblem


@dataclass(frozen=True)
class Pair:
    """A question with its SQL, and `alternatives` that are right too. What the source does not say is empty; `place` is
    where a person finds it. Not `answerable` is a question that has no single answer: nothing predicted for it can be
    right, and its SQL may be no query.
    """

    place: str
    db_id: str
    question: str
    sql: str
    _: KW_ONLY
    evidence: str = ""
    split: str = ""
    identity: str = ""
    alternatives: tuple[str, ...] = ()
    answerable: bool = True


@dataclass(frozen=True)
class Prediction:
    """The SQL predicted for a question, in the order given; none when it is missing, "" for an attempt that gave none.
    `gold` may be unknown ("").

    `votes` are what each prediction weighs in a vote, as the leaves of a tree do; () where each weighs one.
    """

    place: str
    db_id: str
    question: str
    gold: str
    predictions: tuple[str, ...]
    _: KW_ONLY
    evidence: str = ""
    identity: str = ""
    alternatives: tuple[str, ...] = ()
    votes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """Pairs in the order of the source; `problems` were left out, `notes` are worth knowing."""

    pairs: tuple[Pair, ...]
    problems: tuple[LoadProblem, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedPredictions:
    """Predictions in the order of the gold if there is one, else of the source, for questions that have an answer;
    `problems` were left out, `notes` are worth knowing."""

    predictions: tuple[Prediction, ...]
    problems: tuple[LoadProblem, ...] = ()
    notes: tuple[str, ...] = ()
