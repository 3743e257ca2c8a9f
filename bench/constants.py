"""Who is right, by the constants of golds: `python -m bench.constants EVALUATION... --databases PATH`.

Each EVALUATION is a folder that `agro_train.evaluate` wrote, of one model and all of the same questions. A gold has a
text to compare with, else a number (LIMIT apart), or neither; `left out`: answers in which a text of their gold does
not stand. The others are held against the first, paired, by drawing databases.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from sqlglot import exp

from agro_data.databases.discovery.catalog import find_databases
from agro_data.evaluation.statistics import paired, spelled
from agro_data.evaluation.verdict import Verdict
from agro_data.profiling.cache import cached_profile
from agro_data.sql.names.scope import Schema, resolve
from agro_data.sql.parse import parse_select
from bench.parts.tables import show

KINDS = ("a text", "a number", "neither")
Verdicts = Mapping[str, Sequence[Verdict]]  # by the name of the questions


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("evaluations", type=Path, nargs="+")
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(".agro-cache"))
    given = parser.parse_args()
    read = {folder.name: verdicts(folder) for folder in given.evaluations}
    asked = {one.db_id for found in read.values() for some in found.values() for one in some}
    databases = [one for one in find_databases(given.databases).databases if one.db_id in asked]
    schemas = {one.db_id: cached_profile(one, given.cache / "profiles").schema for one in databases}
    texts = {
        (one.db_id, one.gold): constants(one.gold, schemas[one.db_id])
        for one in {(v.db_id, v.gold): v for found in read.values() for some in found.values() for v in some}.values()
    }

    def of(name: str, questions: Sequence[str], kind: str) -> list[Verdict]:
        return [v for each in questions for v in read[name][each] if texts[v.db_id, v.gold][0] == kind]

    first, *others = read
    sets = sorted(read[first])
    rows = []
    for name in read:
        for each in sets:
            for kind in KINDS:
                some = of(name, [each], kind)
                lost = sum(any(text not in v.pred.lower() for text in texts[v.db_id, v.gold][1]) for v in some)
                rows.append([name, each, kind, len(some), _percent(sum(v.score for v in some) / len(some)), lost])
    show("Right", ["evaluation", "questions", "gold has", "of", "strict", "left out"], rows)
    gains = []
    for name in others:
        for kind in KINDS:
            found = paired(of(name, sets, kind), of(first, sets, kind))
            gain, by = found["gain"], found["gain_by_database"]
            gains.append(
                [name, kind, len(of(name, sets, kind)), _interval(gain), _interval(by), found["won"], found["lost"]]
            )
    show(f"Less {first}, paired", ["evaluation", "gold has", "of", "gain", "mean of databases", "won", "lost"], gains)


def verdicts(folder: Path) -> Verdicts:
    """The strict verdicts of an evaluation."""
    known = {field.name for field in fields(Verdict)}
    found: dict[str, list[Verdict]] = {}
    for file in sorted(folder.glob("*/*/strict.jsonl")):
        rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        found[file.parent.parent.name] = [Verdict(**{k: v for k, v in row.items() if k in known}) for row in rows]
    return found


def constants(sql: str, schema: Schema) -> tuple[str, list[str]]:
    """Which of `KINDS` a query has, and its texts in lower case, without the signs of LIKE."""
    tree = parse_select(sql, "sqlite")
    names = resolve(tree, "sqlite", schema)
    literals = [node for node in tree.find_all(exp.Literal) if not isinstance(node.parent, exp.Limit)]
    texts = [node.this for node in literals if node.is_string]
    for column in tree.find_all(exp.Column):
        if (meant := names.binding(column)) is not None and meant.kind == "string":
            texts.append(column.name)
    kind = KINDS[0] if texts else KINDS[1] if literals else KINDS[2]
    return kind, [text.lower().strip("%") for text in texts]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _interval(found: Mapping[str, float]) -> str:
    return f"{found['mean']:+.1%} [{spelled(found, '{:.1%}, {:.1%}')}]"


if __name__ == "__main__":
    main()
