"""Would a human ask it? Questions and SQL of a corpus beside those of people, on the same databases.

    python -m bench.human_likeness datasets/corpus --human ../shared/data/spider/train.json \
        --databases ../shared/data/spider/database --output figures.json
    python -m bench.human_likeness datasets/corpus --draw 200 > drawn.md

Without a corpus, only the human-against-human ceilings are measured. A corpus is a version's folder, a corpus
folder, or a JSON or JSONL file of {"db_id", "question", "sql" or "query"}.

(a) Telling apart. A classifier on sentence embeddings and word and character n-grams learns to tell our questions
    from people's on some databases and is tried on others (5 folds by database). Both sides are paired by database
    and by length. AUC 0.5: it cannot tell them apart. Ceilings: the first against the second person's wording of
    the same SQL, and two random halves of one side.
(b) Templates: SQL with names and literals masked. How many of ours people use, and how many of people's we cover.
    Ceiling: one half of the people's databases against the other, with ours cut to the size of that half.
    Beside it, how many of both have a join, a LIMIT, and so on.
(c) `--draw N` prints pairs to be read, in random order and without anything that says how they were made.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from agro_data.publish.read import open_version
from agro_data.sql.facts import SqlFacts, sql_facts
from agro_data.sql.parse import SqlRefused
from bench.parts.telling_apart import (
    Encode,
    Pair,
    distinct_ngrams,
    giveaways,
    matched,
    rounded,
    shuffled,
    telling_apart,
    wordings,
)

GOAL_AUC = 0.75
HALVINGS = 5
Schema = dict[str, dict[str, str]]


# --- input ---


def read_pairs(path: Path) -> list[Pair]:
    """Pairs of a corpus version, a JSON list or a JSONL file. Raises `ValueError` that names a row without a key."""
    if path.is_dir():
        frame = open_version(path).examples().select("db_id", "question", "sql").collect()
        return [Pair(*row) for row in frame.iter_rows()]
    text = path.read_text(encoding="utf-8")
    rows = json.loads(text) if text.lstrip().startswith("[") else [json.loads(x) for x in text.splitlines() if x]
    pairs = []
    for number, row in enumerate(rows, start=1):
        sql = row.get("sql", row.get("query"))
        if not isinstance(sql, str) or "db_id" not in row or "question" not in row:
            raise ValueError(f"{path}: row {number} lacks db_id, question, or sql (or query) as text")
        pairs.append(Pair(row["db_id"], row["question"], sql))
    return pairs


def read_schema(file: Path) -> Schema:
    """`{table: {column: declared type}}` of a SQLite file, read without touching it."""
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?immutable=1", uri=True)
    connection.text_factory = partial(str, errors="replace")
    try:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
        return {
            name: {row[1]: row[2] for row in connection.execute("SELECT * FROM pragma_table_info(?)", (name,))}
            for name in names
        }
    finally:
        connection.close()


# --- (b) templates ---


def read(pairs: Sequence[Pair], schemas: dict[str, Schema]) -> tuple[list[tuple[Pair, SqlFacts]], Counter[str]]:
    """Each pair with what its SQL is, and the reasons why others cannot be read (class and count)."""
    known: dict[tuple[str, str], SqlFacts | None] = {}
    refused: Counter[str] = Counter()
    found = []
    for pair in pairs:
        key = (pair.db_id, pair.sql)
        if key not in known:
            try:
                known[key] = sql_facts(pair.sql, "sqlite", schemas.get(pair.db_id, {}))
            except SqlRefused as error:
                known[key] = None
                refused[error.reason] += 1
        facts = known[key]
        if facts is not None:
            found.append((pair, facts))
    return found, refused


def construct_shares(found: Sequence[tuple[Pair, SqlFacts]]) -> dict[str, float]:
    """The share of rows whose SQL has each construct, the commonest first; `join` is of any number of tables."""
    counts = Counter(name for _, facts in found for name in {*facts.constructs, *_joined(facts.constructs)})
    return {name: rounded(count / len(found)) for name, count in counts.most_common()}


def _joined(constructs: Sequence[str]) -> list[str]:
    return ["join"] if any(name.startswith("join_") for name in constructs) else []


def overlap(asked: Sequence[str], reference: Sequence[str]) -> dict[str, float]:
    """Share of the templates in `asked` that `reference` has: of distinct ones, and of rows."""
    there = set(reference)
    kinds = sorted(set(asked))
    return {
        "distinct": rounded(sum(kind in there for kind in kinds) / max(1, len(kinds))),
        "rows": rounded(sum(template in there for template in asked) / max(1, len(asked))),
    }


def template_shares(
    ours: Sequence[tuple[Pair, str]], human: Sequence[tuple[Pair, str]], *, seed: int
) -> dict[str, Any]:
    """Overlaps of whole sets, and of equal halves of the databases beside human against human (means of halvings).

    `precision`: of the first set's templates, the share the second uses. `recall`: the share of the second's
    templates that the first covers.
    """
    said = [template for _, template in human]
    result: dict[str, Any] = {"human_templates": len(set(said)), "human_rows": len(said)}
    if ours:
        mine = [template for _, template in ours]
        result |= {
            "our_templates": len(set(mine)),
            "our_rows": len(mine),
            "ours_used_by_humans": overlap(mine, said),
            "humans_covered_by_ours": overlap(said, mine),
        }
        result["most_common_not_used_by_humans"] = _missing(mine, said)
        result["most_common_human_not_covered"] = _missing(said, mine)
    halves: dict[str, list[dict[str, float]]] = defaultdict(list)
    databases = sorted({pair.db_id for pair, _ in human})
    for number in range(HALVINGS):
        inside = set(shuffled(databases, f"{seed}/half/{number}")[: len(databases) // 2])
        here = [template for pair, template in human if pair.db_id in inside]
        there = [template for pair, template in human if pair.db_id not in inside]
        halves["human_precision"].append(overlap(here, there))
        halves["human_recall"].append(overlap(there, here))
        if ours:
            own = [template for pair, template in ours if pair.db_id in inside]
            own = shuffled(own, f"{seed}/cut/{number}")[: len(here)]
            halves["our_precision"].append(overlap(own, there))
            halves["our_recall"].append(overlap(there, own))
    result["equal_halves"] = {
        name: {key: rounded(float(np.mean([value[key] for value in values]))) for key in values[0]}
        for name, values in halves.items()
    }
    return result


def _missing(asked: Sequence[str], reference: Sequence[str], limit: int = 10) -> list[list[Any]]:
    there = set(reference)
    left = Counter(template for template in asked if template not in there)
    return [[template, count] for template, count in sorted(left.items(), key=lambda item: (-item[1], item[0]))[:limit]]


# --- (c) reading ---


def drawn(pairs: Sequence[Pair], count: int, *, seed: int) -> str:
    """`count` pairs in random order as Markdown, with room for three verdicts; no style, shape or hardness."""
    chosen = shuffled(pairs, f"{seed}/draw")[:count]
    lines = [f"# {len(chosen)} of {len(pairs)} questions, drawn blind (seed {seed})", ""]
    lines += ["For each: is it natural? has it one reading? does the SQL answer it?", ""]
    for number, pair in enumerate(chosen, start=1):
        lines += [f"{number}. **{pair.question}** ({pair.db_id})", "", "   ```sql", f"   {pair.sql}", "   ```", ""]
        lines += ["   natural [ ]  one reading [ ]  answered [ ]  fault:", ""]
    return "\n".join(lines)


# --- the whole ---


def measure(
    ours: Sequence[Pair], human: Sequence[Pair], schemas: dict[str, Schema], encode: Encode, *, seed: int
) -> dict[str, Any]:
    """All figures of (a) and (b), each with its ceiling. `ours` may be empty: then the ceilings alone."""
    first, second = wordings(human)
    halves = shuffled(human, f"{seed}/random")
    pairs_of = {
        "first_and_second_wording": matched(first, second, seed=seed),
        "random_halves": matched(halves[::2], halves[1::2], seed=seed),
    }
    figures: dict[str, Any] = {"questions": {"ours": len(ours), "human": len(human)}}
    ceilings = {name: telling_apart(one, two, encode, seed=seed) for name, (one, two) in pairs_of.items()}
    figures["human_against_human"] = ceilings
    if ours:
        mine, theirs = matched(ours, human, seed=seed)
        figures["ours_against_human"] = telling_apart(mine, theirs, encode, seed=seed)
        figures["giveaways"] = giveaways(mine, theirs)
        shares = {"ours": distinct_ngrams(mine), "human": distinct_ngrams(theirs)}
    else:
        one, two = pairs_of["random_halves"]
        shares = {"human": distinct_ngrams(one), "human_other_half": distinct_ngrams(two)}
    figures["distinct_4grams"] = {name: rounded(share) for name, share in shares.items()}
    ours_found, ours_refused = read(ours, schemas)
    human_found, human_refused = read(human, schemas)
    figures["templates"] = template_shares(
        *([(pair, facts.template) for pair, facts in found] for found in (ours_found, human_found)), seed=seed
    )
    figures["constructs"] = {"ours": construct_shares(ours_found), "human": construct_shares(human_found)}
    figures["without_template"] = {"ours": dict(ours_refused), "human": dict(human_refused)}
    return figures


def as_text(figures: dict[str, Any]) -> str:
    """The figures as lines for a person."""
    lines = [f"questions: {figures['questions']['ours']:,} of ours, {figures['questions']['human']:,} human", ""]
    lines.append(f"(a) telling apart, AUC on unseen databases (0.5 is perfect, goal at most {GOAL_AUC})")
    rows = {f"human: {name}": value for name, value in figures["human_against_human"].items()}
    if "ours_against_human" in figures:
        rows = {"ours against human": figures["ours_against_human"], **rows}
    for name, row in rows.items():
        lines.append(
            f"  {name:38} {row['auc']:.3f} [{row['interval'][0]:.3f}, {row['interval'][1]:.3f}]  embedding "
            f"{row['auc_embedding']:.3f}  n-grams {row['auc_ngrams']:.3f}  n-grams with typography "
            f"{row['auc_ngrams_with_typography']:.3f}  ({row['pairs']:,} pairs, {row['databases']} databases)"
        )
    shares = ", ".join(f"{name} {share:.3f}" for name, share in figures["distinct_4grams"].items())
    lines.append(f"  distinct 4-grams over all: {shares}")
    for side, title in (("left", "ours"), ("right", "people")):
        for row in figures.get("giveaways", {}).get(side, []):
            shown = f"z {row['z']:6.1f}  ours {100 * row['left']:5.1f} %  people {100 * row['right']:5.1f} %"
            lines.append(f"  marks {title:7} {shown}  {row['ngram']}")
    found = figures["templates"]
    lines += ["", f"(b) templates: {found['human_templates']:,} human in {found['human_rows']:,} rows"]
    if "our_templates" in found:
        lines[-1] += f", {found['our_templates']:,} of ours in {found['our_rows']:,} rows"
        for name in ("ours_used_by_humans", "humans_covered_by_ours"):
            lines.append(f"  {name.replace('_', ' '):38} {_both(found[name])}")
    lines.append("  equal halves of the databases:")
    lines += [f"    {name.replace('_', ' '):36} {_both(value)}" for name, value in found["equal_halves"].items()]
    for name in ("most_common_not_used_by_humans", "most_common_human_not_covered"):
        for template, count in found.get(name, []):
            lines.append(f"  {name.replace('_', ' ')}: {count} x {template}")
    mine, theirs = figures["constructs"]["ours"], figures["constructs"]["human"]
    for name, share in theirs.items():
        own = f"ours {100 * mine.get(name, 0.0):5.1f} %  " if mine else ""
        lines.append(f"  {name:38} {own}people {100 * share:5.1f} %")
    for side, reasons in figures["without_template"].items():
        if reasons:
            lines.append(f"  {side}: SQL without a template: {reasons}")
    return "\n".join(lines) + "\n"


def _both(shares: dict[str, float]) -> str:
    return f"{100 * shares['distinct']:5.1f} % of distinct, {100 * shares['rows']:5.1f} % of rows"


def _sentence_encoder() -> Encode:
    from agro_data.diversity.embeddings import load_encoder

    encoder = load_encoder(network=False)
    return encoder.encode


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0: measured or drawn; 2: cannot start."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "corpus", type=Path, nargs="?", help="corpus version, corpus folder, or JSON; none: ceilings only"
    )
    parser.add_argument("--human", type=Path, default=Path("../shared/data/spider/train.json"))
    parser.add_argument(
        "--databases", type=Path, default=Path("../shared/data/spider/database"), help="<db_id>/<db_id>.sqlite"
    )
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    parser.add_argument(
        "--draw", type=int, metavar="N", help="print N pairs of the corpus as Markdown, and nothing else"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        ours = read_pairs(options.corpus) if options.corpus else []
        if options.draw:
            print(drawn(ours, options.draw, seed=options.seed))
            return 0
        human = read_pairs(options.human)
        shared = {pair.db_id for pair in human} & ({pair.db_id for pair in ours} or {pair.db_id for pair in human})
        human = [pair for pair in human if pair.db_id in shared]
        ours = [pair for pair in ours if pair.db_id in shared]
        schemas = {name: read_schema(options.databases / name / f"{name}.sqlite") for name in sorted(shared)}
        figures = measure(ours, human, schemas, _sentence_encoder(), seed=options.seed)
    except (OSError, ValueError, LookupError, sqlite3.Error) as error:
        print(f"human_likeness: {error}", file=sys.stderr)
        return 2
    print(as_text(figures), end="")
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
