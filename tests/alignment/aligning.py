"""Examples on the small shop, with an instance that tells apart what the shop itself does not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from making import run_sqlite
from verify.verify_shop import SCHEMA, as_database, shop

from agro_data.alignment.example import Example
from agro_data.alignment.solvers import Solver
from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Limits

SANDBOX = Sandbox(limits=Limits())  # for all tests: starting a worker takes longer than most of them

OLD = "SELECT name FROM customer WHERE age > 40"  # Bo, Di, Finn; and Gus of the instance
OLDER = "SELECT name FROM customer WHERE age > 45"
FROM_41 = "SELECT name FROM customer WHERE age >= 41"  # the same as OLD everywhere
NOT_30 = "SELECT name FROM customer WHERE age > 30"  # the same in the shop, not in the instance
CITIES = "SELECT city FROM customer WHERE age > 40"


def example(folder: Path, sql: str = OLD, **more: Any) -> Example:
    """An example in `folder`, where the shop and its instance are made once."""
    source = folder / "shop.sqlite"
    instance = folder / "other.sqlite"
    if not instance.exists():
        shop(folder, "sqlite")
        shutil.copy(source, instance)
        run_sqlite(instance, "INSERT INTO customer VALUES (7, 'Gus', 'Bern', 77, 'g@x'), (8, 'Hal', 'Oslo', 35, NULL)")
    given = {"question": "Which customers are older than 40?", "hardness": "easy", "example_id": "e1", **more}
    return Example(
        sql=sql,
        database=as_database(source, "sqlite"),
        shown="customer(id, name, city, age, email)",
        schema=SCHEMA,
        instances=(as_database(instance, "sqlite"),),
        **given,
    )


def says(*cycles: Sequence[str], name: str = "scripted") -> Solver:
    """A solver that gives these answers in the first cycle, the second, …; the last ones from then on."""
    return Solver(name, lambda examples, cycle: [cycles[min(cycle, len(cycles)) - 1] for _ in examples])


def solver_of(name: str, solve: Callable[[str], Sequence[str]]) -> Solver:
    """A solver from a function of the question."""
    return Solver(name, lambda examples, cycle: [solve(one.question) for one in examples])


def knows_one(question: str, sql: str) -> Callable[[Mapping[str, Any]], str]:
    """A server that answers `question` with `sql`, every other one wrong, and as a referee finds such answers wrong."""

    def reply(body: Mapping[str, Any]) -> str:
        said = "".join(message["content"] for message in body["messages"])
        if "referee" in said:
            return '<think>I see</think><solution>{"verdict": "predictor_wrong", "evidence": "the condition is meant"}'
        own = f"Question: {question}\n" in said
        return f"<think>so</think><solution>{sql if own else 'SELECT 1 FROM lesson'}"

    return reply
