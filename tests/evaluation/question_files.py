"""Questions with SQL, and how to write them in each form in which people keep such files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl

ROWS = [
    {"db_id": "shop", "question": "How many orders?", "query": "SELECT count(*) FROM orders"},
    {"db_id": "shop", "question": "Names, please; “all” of them", "query": "SELECT name,\n id FROM customer"},
    {"db_id": "zoo", "question": "Größte Tiere?", "query": "SELECT name FROM animal WHERE note = 'a, \"b\"'"},
]


def write(path: Path, rows: list[dict[str, Any]], encoding: str = "utf-8") -> Path:
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
        return path
    with path.open("w", encoding=encoding, newline="") as file:
        if path.suffix == ".json":
            json.dump(rows, file, ensure_ascii=False)
        elif path.suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path
