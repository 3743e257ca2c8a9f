"""Rows that were changed after their corpus was chosen, held to what was true of it when it was."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import polars as pl

from agro_data.diversity.decontamination import Exclusion, decontaminate
from agro_data.diversity.normal_forms import normal_question
from agro_data.diversity.splits import traits

Refusal = tuple[str, str]  # reason, detail
Trait = tuple[str, str]  # of `diversity.splits.traits`


class Homes:
    """The splits in which each trait of some rows stands, as rows come and go."""

    def __init__(self) -> None:
        self._rows: defaultdict[Trait, Counter[str]] = defaultdict(Counter)

    def add(self, frame: pl.DataFrame) -> None:
        for said, split in zip(traits(frame), frame["split"], strict=True):
            self.note(said, split)

    def remove(self, frame: pl.DataFrame) -> None:
        for said, split in zip(traits(frame), frame["split"], strict=True):
            self.note(said, split, rows=-1)

    def note(self, said: Iterable[Trait], split: str, rows: int = 1) -> None:
        for trait in said:
            self._rows[trait][split] += rows

    def of(self, trait: Trait) -> set[str]:
        return {split for split, rows in self._rows[trait].items() if rows}


def refusals(
    changed: pl.DataFrame, standing: pl.DataFrame, excluded: Exclusion, elsewhere: Homes | None
) -> list[Refusal | None]:
    """Why each row of `changed` cannot join the `standing` rows of its database; None if it can.

    Both have columns of `records.EXAMPLE`. No two rows of a database may ask the same, and none may say what is
    `excluded`. Where splits are by skeleton, `elsewhere` has what all other databases say, and no row may say what
    another split says. Rows join one after the other: if two ask the same, only the first joins.
    """
    asked = {normal_question(question) for question in standing["question"]}
    own = traits(changed) if elsewhere is not None else [()] * changed.height
    here = Homes()
    here.add(standing)
    homes = [here] if elsewhere is None else [here, elsewhere]
    banned = _excluded(changed, excluded)
    found: list[Refusal | None] = []
    for row, said in zip(changed.iter_rows(named=True), own, strict=True):
        question = normal_question(row["question"])
        leaks = [trait for trait in said if any(home.of(trait) - {row["split"]} for home in homes)]
        if question in asked:
            found.append(("same_question", "another row of the database asks the same now"))
        elif row["example_id"] in banned:
            found.append(banned[row["example_id"]])
        elif leaks:
            kind, key = leaks[0]
            found.append(("split_leak", f"its {kind} {key} now stands in another split than {row['split']}, too"))
        else:
            found.append(None)
            asked.add(question)
            here.note(said, row["split"])
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
