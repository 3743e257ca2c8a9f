"""Questions that people wrote, split by database: a fold learns from the others' databases, and is asked about its own.

    python -m bench.folds --questions ../shared/data/spider/train.json --folds 3 --out FOLDS

Writes `FOLDS/0/learn.json` and `FOLDS/0/ask.json`, and so on. Spider dev has nine databases, and differences between
models vary by database: over the folds all databases of a file are asked about, each by models that have not seen it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from agro_data.hashing import seed_of

Pair = Mapping[str, str]


def fold(pairs: Sequence[Pair], number: int, of: int, each: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Pairs that fold `number` of `of` learns from, and those it is asked: at most `each` of a database, drawn.

    Databases are dealt to folds in an order drawn by `seed`, so that folds differ by one at most.
    """
    names = sorted({pair["db_id"] for pair in pairs}, key=lambda name: seed_of(seed, "fold", name))
    own = set(names[number::of])
    learnt = [pair for pair in pairs if pair["db_id"] not in own]
    asked: list[Pair] = []
    for name in sorted(own):
        about = [pair for pair in pairs if pair["db_id"] == name]
        asked += sorted(about, key=lambda pair: seed_of(seed, "asked", name, pair["question"]))[:each]
    return learnt, asked


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=Path, required=True, help="pairs in Spider's layout")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--each", type=int, default=24, help="questions asked of a database, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    given = parser.parse_args()
    pairs = json.loads(given.questions.read_text(encoding="utf-8"))
    for number in range(given.folds):
        learnt, asked = fold(pairs, number, given.folds, given.each, given.seed)
        place = given.out / str(number)
        place.mkdir(parents=True, exist_ok=True)
        for name, rows in (("learn", learnt), ("ask", asked)):
            (place / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        told = {
            name: {"pairs": len(rows), "databases": len({row["db_id"] for row in rows})}
            for name, rows in (("learn", learnt), ("ask", asked))
        }
        print(f"fold {number}: {json.dumps(told)}")


if __name__ == "__main__":
    main()
