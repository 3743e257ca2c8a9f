"""How much of what people wrote is read back into intents, and whether what is read has the same answer.

`python -m bench.reading --spider FOLDER [--limit N]`: the distinct SQL of Spider's train questions, on their databases.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from agro_data.databases.discovery.catalog import find_databases
from agro_data.databases.hostile.sandbox import own_sandbox
from agro_data.databases.types import Limits
from agro_data.intent.rendering.to_sql import render_sql
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.tree import Intent
from agro_data.profiling.cache import cached_profile
from agro_data.synthesis.read_back.reading import read_intent
from bench.parts.tables import show

SHOWN = 8  # reasons


def main(arguments: list[str] | None = None) -> int:
    """Command line: the share that is read, the share of it with the same answer, and why the rest is not."""
    parser = argparse.ArgumentParser(prog="python -m bench.reading", description=main.__doc__)
    parser.add_argument("--spider", type=Path, required=True, help="a folder with train.json and database/")
    parser.add_argument("--limit", type=int, default=None, help="databases, in the order of their ids")
    options = parser.parse_args(arguments)
    asked: dict[str, dict[str, None]] = {}
    for row in json.loads((options.spider / "train.json").read_text(encoding="utf-8")):
        asked.setdefault(row["db_id"], {})[row["query"]] = None
    found = {database.db_id: database for database in find_databases(options.spider / "database").databases}
    sandbox = own_sandbox(Limits(seconds=10.0))
    total, read, same = 0, 0, 0
    why: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="agro-bench-") as cache:
        for db_id in sorted(set(asked) & set(found))[: options.limit]:
            profile = cached_profile(found[db_id], Path(cache))
            atlas = Atlas(profile)
            total += len(asked[db_id])
            pairs: list[str] = []
            for sql in asked[db_id]:
                intent = read_intent(sql, atlas)
                if isinstance(intent, Intent):
                    pairs += [sql, render_sql(intent, profile)]
                else:
                    why[f"{intent.kind}: {intent.detail}" if intent.kind == "not_said" else intent.kind] += 1
            results = list(sandbox.run(found[db_id], pairs, want="digest"))
            read += len(pairs) // 2
            same += sum(
                a.ok and b.ok and a.digest == b.digest for a, b in zip(results[::2], results[1::2], strict=True)
            )
    shares = [["distinct SQL", total, 1.0], ["read", read, round(read / max(total, 1), 4)]]
    shares.append(["of these with the same answer", same, round(same / max(read, 1), 4)])
    show("SQL of Spider's train questions read back into intents", ["", "count", "share"], shares)
    show("Not read because", ["reason", "count"], [[reason, count] for reason, count in why.most_common(SHOWN)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
