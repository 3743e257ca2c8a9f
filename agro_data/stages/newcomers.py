"""Rows that were changed after their corpus was chosen, held to what was true of it when it was."""

from __future__ import annotations

from collections import defaultdict

import polars as pl

from agro_data.diversity.decontamination import Exclusion, decontaminate
from agro_data.diversity.normal_forms import normal_question
from agro_data.diversity.splits import traits

Refusal = tuple[str, str]  # reason, detail


def refusals(
    changed: pl.DataFrame, standing: pl.DataFrame, excluded: Exclusion, *, by_skeleton: bool
) -> list[Refusal | None]:
    """Why each row of `changed` cannot join those that are `standing`; None where it can.

    Both have columns of `records.EXAMPLE`. No two rows of a database ask the same, none says what is `excluded`, and,
    where splits are `by_skeleton`, none says what another split says: then `standing` are rows of all databases. They
    join one after the other: of two that ask the same the first does.
    """
    asked = {(db_id, normal_question(said)) for db_id, said in standing.select("db_id", "question").iter_rows()}
    homes: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    own = traits(changed) if by_skeleton else [()] * changed.height
    if by_skeleton:
        for said, split in zip(traits(standing), standing["split"], strict=True):
            for trait in said:
                homes[trait].add(split)
    banned = _excluded(changed, excluded)
    found: list[Refusal | None] = []
    for row, said in zip(changed.iter_rows(named=True), own, strict=True):
        question = row["db_id"], normal_question(row["question"])
        elsewhere = [trait for trait in said if homes[trait] - {row["split"]}]
        if question in asked:
            found.append(("same_question", "another row of the database asks the same now"))
        elif row["example_id"] in banned:
            found.append(banned[row["example_id"]])
        elif elsewhere:
            kind, key = elsewhere[0]
            found.append(("split_leak", f"its {kind} {key} now stands in another split than {row['split']}, too"))
        else:
            found.append(None)
            asked.add(question)
            for trait in said:
                homes[trait].add(row["split"])
    return found


def _excluded(changed: pl.DataFrame, excluded: Exclusion) -> dict[str, Refusal]:
    """By `example_id`, why rows are in what must not be in the corpus."""
    if changed.is_empty():
        return {}
    asked = changed.select("db_id", "question", "sql", candidate_id="example_id").unique("candidate_id")
    lost = decontaminate(asked, excluded).rejected
    return {
        name: (reason, detail) for name, reason, detail in lost.select("candidate_id", "reason", "detail").iter_rows()
    }
