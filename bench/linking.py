"""Gold columns that stay in the prompt of a wide schema: `python -m bench.linking`.

Generates a database of 300 tables and 4,000 columns (20 departments whose tables share most of their column names; a
third of the tables abbreviated), builds a corpus on it, and serialises its schema for each question under a budget.

With `--asked FILE --databases PATH` instead: questions that people wrote, in the compact style, for `--budgets`.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import agro_data
from agro_data.config import STRUCTURAL
from agro_data.databases.discovery.catalog import find_databases
from agro_data.populate.hints import TablePlan
from agro_data.populate.rows import build_rows
from agro_data.populate.schema import read_ddl
from agro_data.populate.writer import write_sqlite
from agro_data.profiling.profiler import profile_database
from agro_data.profiling.serialising.linking import index_schema
from agro_data.profiling.serialising.serialise import BUDGET, Style, estimate_tokens, fit_schema
from agro_data.sql.facts import sql_facts
from agro_data.sql.parse import SqlRefused
from agro_train.questions import questions_of_file
from bench.parts.tables import show

STYLES: tuple[Style, ...] = ("ddl", "compact", "mschema")
GOAL = 0.99


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


DEPARTMENTS = _words(
    "sales hiring payroll claims shipping catering clinic library fleet energy quality marketing travel training "
    "leasing farming mining banking forestry research"
)
THINGS = _words(
    "order customer product contract invoice employee site visit machine supplier project ticket batch report "
    "meeting vehicle payment room course sample"
)
ATTRIBUTES = _words(
    "amount:REAL price:REAL weight:REAL discount:REAL budget:REAL score:REAL temperature:REAL distance:REAL "
    "quantity:INTEGER capacity:INTEGER age:INTEGER duration:INTEGER priority:INTEGER level:INTEGER floor:INTEGER "
    "start_date:TEXT end_date:TEXT due_date:TEXT birth_date:TEXT city:TEXT country:TEXT status:TEXT category:TEXT "
    "color:TEXT language:TEXT email:TEXT phone:TEXT address:TEXT title:TEXT brand:TEXT grade:TEXT region:TEXT "
    "manager_name:TEXT opening_year:INTEGER model_year:INTEGER reading_count:INTEGER margin:REAL tax_rate:REAL "
    "delivery_method:TEXT payment_method:TEXT first_name:TEXT last_name:TEXT voltage:REAL humidity:REAL depth:REAL "
    "revenue:REAL fee:REAL penalty:REAL bonus:REAL altitude:INTEGER speed:INTEGER seats:INTEGER pages:INTEGER"
)
SHORT = {
    "customer": "cust", "product": "prod", "employee": "emp", "department": "dept", "amount": "amt", "quantity": "qty",
    "date": "dt", "address": "addr", "category": "cat", "number": "nbr", "name": "nm", "payment": "pmt",
    "temperature": "temp", "description": "descr", "manager": "mgr", "count": "cnt", "language": "lang",
    "method": "mthd", "discount": "disc", "capacity": "cap", "contract": "contr", "invoice": "inv", "vehicle": "veh",
}  # fmt: skip


def main() -> None:
    """Print the share of gold columns that stay, for each style."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1_000)
    parser.add_argument("--budget", type=int, default=BUDGET, help="tokens")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokenizer", help="a folder or Hub name for transformers; else characters are counted")
    parser.add_argument("--missed", type=int, default=0, help="print that many questions that lack a column")
    parser.add_argument("--asked", type=Path, help="a file of questions with SQL")
    parser.add_argument("--databases", type=Path, help="their databases")
    parser.add_argument("--budgets", type=int, nargs="+", default=[120, 160, 200, 250, 300, 500])
    arguments = parser.parse_args()
    if arguments.asked:
        rows = measure_asked(arguments.asked, arguments.databases, arguments.budgets, _counter(arguments.tokenizer))
        show(
            f"Schema linking: {arguments.asked.name}, compact", ["budget", "questions", "with all", "mean tokens"], rows
        )
        return
    found = measure(
        arguments.questions, budget=arguments.budget, seed=arguments.seed, count=_counter(arguments.tokenizer)
    )
    for miss in found["missed"][: arguments.missed]:
        print(json.dumps(miss))
    show(
        f"Schema linking: {found['tables']} tables, {found['columns']:,} columns, {found['questions']:,} questions, "
        f"{arguments.budget:,} tokens (goal {GOAL})",
        ["style", "gold columns that stay", "questions with all", "most tokens", "columns shown", "ms a question"],
        found["styles"],
    )


def measure(
    questions: int, *, budget: int = BUDGET, seed: int = 0, count: Callable[[str], int] = estimate_tokens
) -> dict[str, Any]:
    """Share of gold columns shown, and of questions all of whose columns are, by style."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wide(folder / "databases" / "wide.sqlite", seed)
        config = agro_data.BuildConfig(
            str(folder / "databases"), size=questions, seed=seed, embedding_model=STRUCTURAL, certify=False
        )
        built = agro_data.build(config=config, run=agro_data.RunConfig(out=folder / "out", cache=folder / "cache"))
        rows = built.version.examples().select("question", "evidence", "sql", "columns").collect().to_dicts()
        profile = profile_database(find_databases(folder / "databases").databases[0])
    index = index_schema(profile)
    styles, missed = [], []
    for style in STYLES:
        kept = asked = whole = most = shown = 0
        begun = time.perf_counter()
        for row in rows:
            links = index.link(row["question"], row["evidence"])
            text = fit_schema(profile, style=style, budget=budget, links=links, count_tokens=count)
            lost = [c for c in row["columns"] if tuple(c.split(".", 1)) not in text.columns]
            kept, asked, whole = kept + len(row["columns"]) - len(lost), asked + len(row["columns"]), whole + (not lost)
            most, shown = max(most, count(text.text)), shown + len(text.columns)
            if lost:
                missed.append({"style": style, "question": row["question"], "lost": lost, "sql": row["sql"]})
        spent = (time.perf_counter() - begun) * 1000 / len(rows)
        styles.append(
            [style, round(kept / asked, 4), round(whole / len(rows), 4), most, shown // len(rows), round(spent, 1)]
        )
    tables = len(profile.tables)
    columns = sum(len(table.columns) for table in profile.tables)
    return {"tables": tables, "columns": columns, "questions": len(rows), "styles": styles, "missed": missed}


def measure_asked(
    file: Path, databases: Path, budgets: Sequence[int], count: Callable[[str], int]
) -> list[list[float]]:
    """For each budget: questions whose SQL can be read, the share of them with all gold columns, tokens of a schema."""
    with tempfile.TemporaryDirectory() as cache:
        asked = questions_of_file(file, databases, Path(cache))
        found: list[list[float]] = []
        for budget in budgets:
            whole, lengths = [], []
            for row in asked.rows:
                source = asked.sources[row["db_id"]]
                try:
                    gold = sql_facts(row["sql"], source.database.dialect, source.profile.schema)
                except SqlRefused:
                    continue
                links = source.index.link(row["question"], row["evidence"])
                text = fit_schema(source.profile, style="compact", budget=budget, links=links, count_tokens=count)
                whole.append(set(gold.columns) <= {f"{table}.{column}" for table, column in text.columns})
                lengths.append(count(text.text))
            found.append([budget, len(whole), round(sum(whole) / len(whole), 4), round(sum(lengths) / len(lengths))])
    return found


def wide(path: Path, seed: int, tables: int = 300, columns: int = 4_000) -> Path:
    """Write the database: each table has a key, one to three parents, and attributes that other tables have, too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ddl = wide_ddl(seed, tables, columns)
    schema = read_ddl("wide", ddl)
    plan = {table.name: TablePlan(rows=24) for table in schema.tables}
    return write_sqlite(schema, build_rows(schema, plan, seed), path)


def wide_ddl(seed: int, tables: int, columns: int) -> str:
    """CREATE TABLE statements with exactly so many tables and columns."""
    rng = random.Random(f"wide/{seed}")
    names = rng.sample([(place, thing) for place in DEPARTMENTS for thing in THINGS], tables)
    names.sort(key=lambda name: DEPARTMENTS.index(name[0]))
    made: list[tuple[str, str]] = []  # table and its key
    parts = []
    for number, (place, thing) in enumerate(names):
        spell = _shortened if rng.random() < 1 / 3 else str
        table, key = spell(f"{place}_{thing}"), spell(f"{thing}_id")
        left = columns * (number + 1) // tables - columns * number // tables
        near = [one for one in made[-14:] if one[0].startswith(place)] or made[-3:]
        parents = rng.sample(near, min(len(near), rng.randint(1, 3)))
        lines = [f"{key} INTEGER PRIMARY KEY"]
        taken = {key}
        for parent, parent_key in parents:
            column = parent_key if parent_key not in taken else f"{parent}_id"
            taken.add(column)
            lines.append(f"{column} INTEGER REFERENCES {parent}({parent_key})")
        lines.append(f"{spell('name')} TEXT NOT NULL")
        rest = rng.sample(ATTRIBUTES, left - len(lines))
        lines += [f"{spell(name)} {kind}" for name, kind in (one.split(":") for one in rest)]
        parts.append(f"CREATE TABLE {table} (\n  " + ",\n  ".join(lines) + ");")
        made.append((table, key))
    return "\n".join(parts)


def _shortened(name: str) -> str:
    return "_".join(SHORT.get(word, word) for word in name.split("_"))


def _counter(tokenizer: str | None) -> Callable[[str], int]:
    if tokenizer is None:
        return estimate_tokens
    from transformers import AutoTokenizer

    loaded = AutoTokenizer.from_pretrained(tokenizer)
    return lambda text: len(loaded(text, add_special_tokens=False)["input_ids"])


if __name__ == "__main__":
    main()
