"""Small frames of candidates with questions, made by a seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import polars as pl
import pytest

from agro_data.records import QUESTION

STYLES = ["colloquial", "concise", "descriptive", "formal", "imperative", "interrogative"]
HARDNESS = ["easy", "medium", "hard", "extra"]
SHAPES = ["list", "count", "group", "superlative", "having", "window"]


def make_questions(rows: int, databases: int = 3, seed: int = 0, tables: int = 4) -> pl.DataFrame:
    """Candidates as `records.QUESTION`, each with SQL that fits its skeleton."""
    random = Random(seed)
    records: list[dict[str, object]] = []
    for number in range(rows):
        db_id = f"db_{number % databases:03d}"
        table, column = f"table_{random.randrange(tables)}", f"column_{random.randrange(6)}"
        shape = random.choice(SHAPES)
        value = random.choice([f"'value {random.randrange(40)}'", str(random.randrange(20)), f"'unique {number}'"])
        tail = random.choice(["", f" ORDER BY {column} LIMIT {random.choice([1, 3, 5])}", f" GROUP BY {column}"])
        where = f" WHERE {column} = {value}" if random.random() < 0.7 else ""
        sql = f"SELECT {shape}_{random.randrange(4)}, {column} FROM {table}{where}{tail}"
        masked = f" WHERE {column} = ?" if where else ""
        skeleton = f"{sql.partition(' FROM ')[0]} FROM {table}{masked}{tail.partition(' LIMIT ')[0]}"
        skeleton += " LIMIT ?" if "LIMIT" in tail else ""
        records.append(
            {
                "candidate_id": f"{number:016x}",
                "db_id": db_id,
                "dialect": "sqlite",
                "intent": "",
                "shape": shape,
                "sql": sql,
                "skeleton": skeleton,
                "template": skeleton.replace(table, "t").replace(column, "c"),
                "hardness": random.choices(HARDNESS, [4, 3, 2, 1])[0],
                "complexity": "simple",
                "constructs": sorted({shape, "order_by" if "ORDER" in tail else "where"}),
                "tables": [table],
                "columns": [f"{table}.{column}"],
                "steps": [],
                "order_matters": "ORDER" in tail,
                "tie_policy": "none",
                "plausibility": round(random.random(), 3),
                "generator": "test",
                "seed": number,
                "result_digest": f"{number % 7}",
                "result_rows": 1,
                "result_columns": 2,
                "alternatives": [],
                "instances": [],
                "mutants_total": 0,
                "mutants_killed": 0,
                "mutants_equivalent": 0,
                "mutants_undecided": 0,
                "checks": [],
                "question": f"Question {number}: what {shape} of {table} has {column} at {value}?",
                "style": STYLES[number % len(STYLES)],
                "evidence": None,
                "alignment_method": "construction",
                "alignment_score": 1.0,
            }
        )
    return pl.DataFrame(records, schema=QUESTION)


@pytest.fixture(scope="session")
def questions() -> Callable[..., pl.DataFrame]:
    return make_questions
