"""Small frames of the publishing contract, made by hand: nothing here is read from a build."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import polars as pl

from agro_data.records import ANSWERABLE, EXAMPLE, REJECTED

HARDNESS = ("easy", "medium", "hard", "extra")
SHAPES = (
    ("How many {t} are there?", "SELECT COUNT(*) FROM {t}", "SELECT COUNT(*) FROM {t}", ["count"]),
    (
        "List the name of {t} with an age above {n}.",
        "SELECT name FROM {t} WHERE age > {n}",
        "SELECT name FROM {t} WHERE age > ?",
        ["where", "comparison"],
    ),
    (
        "For each city, how many {t} have a name with more than {n} letters?",
        "SELECT city, COUNT(*) FROM {t} WHERE LENGTH(name) > {n} GROUP BY city",
        "SELECT city, COUNT(*) FROM {t} WHERE LENGTH(name) > ? GROUP BY city",
        ["group_by", "count", "where", "text_function"],
    ),
    (
        "Which {t} are older than the average, from oldest to youngest?",
        "SELECT name FROM {t} WHERE age > (SELECT AVG(age) FROM {t}) ORDER BY age DESC",
        "SELECT name FROM {t} WHERE age > (SELECT AVG(age) FROM {t}) ORDER BY age DESC",
        ["scalar_subquery", "order_by"],
    ),
)
TABLES = ("singers", "nurses", "pilots", "players", "drivers")


def examples(count: int, seed: int = 0, splits: tuple[str, ...] = ("train", "validation", "test")) -> pl.DataFrame:
    """`count` rows of `records.EXAMPLE`, in no particular order."""
    said = {name: kind for name, kind in EXAMPLE.items() if name not in ANSWERABLE}
    rows = pl.DataFrame([_example(i, seed, splits) for i in range(count)], schema=said)
    return rows.with_columns(**ANSWERABLE).select(list(EXAMPLE))


def _example(i: int, seed: int, splits: tuple[str, ...]) -> dict[str, Any]:
    rng = random.Random(f"{seed}/{i}")
    level = i % len(SHAPES)
    question, sql, skeleton, constructs = SHAPES[level]
    table = TABLES[i % len(TABLES)]
    slots = {"t": table, "n": i}
    sql = sql.format(**slots)
    return {
        "example_id": hashlib.sha256(f"{seed}/{i}".encode()).hexdigest()[:16],
        "db_id": f"db_{i % len(TABLES)}",
        "dialect": "sqlite",
        "split": splits[rng.randrange(len(splits))] if i >= len(splits) else splits[i],
        "question": question.format(**slots),
        "style": ("interrogative", "imperative")[i % 2],
        "evidence": None,
        "sql": sql,
        "skeleton": skeleton.format(**slots),
        "hardness": HARDNESS[level],
        "complexity": ("simple", "moderate", "complex", "highly_complex")[level],
        "constructs": constructs,
        "tables": [table],
        "columns": [f"{table}.name", f"{table}.age"][: level + 1],
        "steps": [
            _step("rows", f"the {table}", f"SELECT * FROM {table}", []),
            _step("answer", "the answer", sql, ["rows"]),
        ],
        "order_matters": level == 3,
        "tie_policy": "total_order" if level == 3 else "none",
        "alternatives": [],
        "result_digest": hashlib.sha256(sql.encode()).hexdigest(),
        "result_rows": 1 + i % 9,
        "result_columns": 1,
        "instances": [],
        "mutants_total": 0,
        "mutants_killed": 0,
        "mutants_equivalent": 0,
        "mutants_undecided": 0,
        "alignment_method": "construction",
        "alignment_score": None,
        "plausibility": 0.5 + level / 10,
        "generator": "grammar",
        "seed": i,
    }  # fmt: skip


def _step(name: str, intent: str, sql: str, inputs: list[str]) -> dict[str, Any]:
    return {"name": name, "intent": intent, "sql": sql, "inputs": inputs, "columns": ["name"]}


def rejected(count: int) -> pl.DataFrame:
    """`count` rows of `records.REJECTED`."""
    return pl.DataFrame(
        [
            {
                "candidate_id": f"{i:016x}",
                "db_id": f"db_{i % 5}",
                "stage": ("execute", "verify")[i % 2],
                "reason": ("empty", "tie", "timeout")[i % 3],
                "detail": "the result has no rows" if i % 3 == 0 else "left out",
                "sql": f"SELECT {i}",
                "question": None,
                "shape": "list",
            }
            for i in range(count)
        ],
        schema=REJECTED,
    )


def manifest(**more: Any) -> dict[str, Any]:
    """What a caller of `write_version` gives: config, databases, funnel, seeds."""
    return {
        "config": {"databases": "samples", "size": 100, "seed": 7},
        "databases": [
            {
                "db_id": f"db_{i}",
                "relative_path": f"db_{i}.sqlite",
                "content_hash": f"{i}" * 64,
                "shareable": True,
                "tables": 2,
                "columns": 5,
            }
            for i in range(5)
        ],
        "funnel": [
            {"stage": "candidates", "rows": 200},
            {"stage": "verified", "rows": 150},
            {"stage": "selected", "rows": 100},
        ],
        "seeds": {"build": 7},
        **more,
    }  # fmt: skip
