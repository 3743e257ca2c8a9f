"""Two databases, questions about them with their SQL, and what scripted models say."""

from __future__ import annotations

import json
from pathlib import Path

from making import make_school
from train.scripted import turn
from train.tiny import make_tiny_model

ROWS = [
    ("school", "How many schools are there?", "SELECT COUNT(*) FROM school"),
    ("school", "Name the schools.", "SELECT name FROM school"),
    ("college", "How many teachers are there?", "SELECT COUNT(*) FROM teacher"),
    ("college", "List the cities of the schools, oldest first.", "SELECT city FROM school ORDER BY founded"),
]


def make_place(folder: Path) -> Path:
    """Two databases with different contents, and questions about them."""
    for name, tag in (("school", ""), ("college", " college")):
        (folder / "databases" / name).mkdir(parents=True)
        make_school(folder / "databases" / name / f"{name}.sqlite", tag)
    rows = [{"db_id": db_id, "question": question, "query": sql} for db_id, question, sql in ROWS]
    (folder / "questions.json").write_text(json.dumps(rows))
    bare = [{"db_id": db_id, "question": question} for db_id, question, _ in ROWS]
    (folder / "bare.json").write_text(json.dumps(bare))
    make_tiny_model(folder / "tiny")
    return folder


def gold_of(text: str) -> str:
    return next(sql for _, question, sql in ROWS if question in text)


def knows(text: str, number: int, seed: int) -> str:
    return turn("solution", gold_of(text))


def counts(text: str, number: int, seed: int) -> str:
    return turn("solution", "SELECT COUNT(*) FROM school") if "How many" in text else "no idea"
