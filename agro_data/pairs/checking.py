"""Findings on pairs of one database: from its engine, its values and the wording. Other pairs are not looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.databases.types import Database, Result
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.culprits import by_halves
from agro_data.pairs.demonstrating import demonstrated
from agro_data.pairs.execution.executing import examine
from agro_data.pairs.execution.reading import check_reading
from agro_data.pairs.finding import KINDS, TIES, Finding, causes
from agro_data.pairs.question.self_joins import offer_turned
from agro_data.pairs.question.sorted_by import offer_by_date
from agro_data.pairs.question.wording import check_wording
from agro_data.pairs.rows.counted_groups import check_counted_groups
from agro_data.pairs.rows.distinct import offer_distinct
from agro_data.pairs.rows.joins import check_joins
from agro_data.pairs.rows.namesakes import offer_namesakes
from agro_data.pairs.rows.negated import offer_negated
from agro_data.pairs.rows.outer_joins import offer_outer_joins
from agro_data.pairs.rows.repeats import offer_repeats
from agro_data.pairs.values.averages import offer_averages
from agro_data.pairs.values.divisions import check_divisions
from agro_data.pairs.values.literal_forms import check_literal_forms, offer_after_days
from agro_data.pairs.values.literals import check_literals
from agro_data.pairs.values.nulls import check_nulls
from agro_data.pairs.values.nulls_first import offer_without_nulls
from agro_data.pairs.values.nulls_unlike import offer_with_nulls
from agro_data.pairs.values.read_as_dates import check_read_as_dates
from agro_data.pairs.values.sizes import check_sizes
from agro_data.pairs.values.texts_against_numbers import check_texts_against_numbers
from agro_data.profiling.profile import DatabaseProfile
from agro_data.sql.names.resolution import Resolution

# What a question asks for, against what the data give.
_OF_BOTH = (
    offer_repeats,
    offer_outer_joins,
    offer_distinct,
    offer_namesakes,
    offer_negated,
    offer_after_days,
    offer_without_nulls,
    offer_with_nulls,
    offer_by_date,
    offer_turned,
    offer_averages,
)


@dataclass(frozen=True)
class Found:
    """Findings of each pair, in order; by SQL the results of what runs, and the names of what passed the gate.

    `faults` are what was raised in checking a pair, by its place: a fault of this program, and nothing was found of it.
    """

    findings: tuple[tuple[Finding, ...], ...]
    results: dict[str, Result]
    names: dict[str, Resolution]
    faults: dict[int, str] = field(default_factory=dict)


def check_pairs(
    database: Database,
    profile: DatabaseProfile,
    pairs: Sequence[Pair],
    sandbox: Sandbox,
    shuffled: Database | None = None,
) -> Found:
    """Check pairs of one database. Without a `shuffled` copy answers that depend on the stored order of rows are not
    found.
    """
    told: list[tuple[Finding, ...]] = []
    results: dict[str, Result] = {}
    names: dict[str, Resolution] = {}
    faults: dict[int, str] = {}
    for piece in by_halves(lambda some: _check_together(database, profile, some, sandbox, shuffled), pairs):
        if piece.answer is None:
            told += [()] * len(piece.places)
            faults |= dict.fromkeys(piece.places, piece.fault)
        else:
            told += piece.answer.findings
            results |= piece.answer.results
            names |= piece.answer.names
    return Found(tuple(told), results, names, faults)


def _check_together(
    database: Database, profile: DatabaseProfile, pairs: Sequence[Pair], sandbox: Sandbox, shuffled: Database | None
) -> Found:
    statements = list(dict.fromkeys(sql for pair in pairs for sql in (pair.sql, *pair.alternatives)))
    found, results, names = examine(database, profile, statements, sandbox, shuffled)
    sizes = check_sizes(database, names, profile, sandbox)
    for sql, findings in sizes.items():
        if findings:  # what is equal, and what comes first, is another once sizes are read as such
            found[sql] = [replace(one, mended="") if one.kind in TIES else one for one in found[sql]]
    literals, joins = check_literals(database, names, sandbox), check_joins(database, names, profile, sandbox)
    nulls, divisions = check_nulls(database, names, profile, sandbox), check_divisions(database, names, sandbox)
    forms = check_literal_forms(database, names, profile, sandbox)
    unlike = check_texts_against_numbers(names, database.dialect)
    dates = check_read_as_dates(database, names, sandbox)
    for more in (check_reading(names), nulls, unlike, dates, forms, literals, sizes, divisions, joins):
        for sql, findings in more.items():
            found[sql] += findings

    def wording(pair: Pair) -> Sequence[Finding]:
        if pair.sql not in names:
            return ()
        known = names[pair.sql]
        said = check_wording(pair.question, pair.evidence, pair.sql, known, profile)
        return [*said, *check_counted_groups(pair.question, known, results.get(pair.sql))]

    def further(pair: Pair) -> Iterator[Finding]:
        """What makes an accepted SQL beside the gold of no use."""
        for number, sql in enumerate(pair.alternatives, 2):
            for one in found[sql] if sql != pair.sql else ():
                if KINDS[one.kind].severity == "error":
                    yield Finding(one.kind, f"Accepted SQL {number} of {len(pair.alternatives) + 1}: {one.says}", sql)

    offers = [
        [one for offer in _OF_BOTH for one in offer(pair, names[pair.sql], profile)] if pair.sql in names else []
        for pair in pairs
    ]
    shown = demonstrated(database, offers, sandbox)
    told = tuple(
        causes((*found[pair.sql], *further(pair), *wording(pair), *some))
        for pair, some in zip(pairs, shown, strict=True)
    )
    return Found(told, results, names)
