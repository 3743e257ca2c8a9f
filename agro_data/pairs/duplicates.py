"""Pairs against each other: the same again, the same question answered otherwise, and what two splits share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from agro_data.diversity.normal_forms import normal_question, normal_sql
from agro_data.evaluation.loaded import Pair
from agro_data.pairs.finding import Finding


def check_duplicates(
    pairs: Sequence[Pair], canonical: Mapping[tuple[str, str], str], answers: Mapping[tuple[str, str], str]
) -> dict[int, list[Finding]]:
    """Findings by the number of the pair; each is told of the first pair that it repeats.

    `canonical` and `answers` are text and result digest of (db_id, sql), where there are any. Pairs without a question
    are compared by SQL alone, and only for repetition. Letter case, punctuation and spacing of questions do not count.
    """
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        asked = normal_question(pair.question)
        evidence = normal_question(pair.evidence)
        key = (pair.db_id, asked, evidence) if asked else (pair.db_id, "", "", _statement(pair, canonical))
        groups[key].append(number)
    found: dict[int, list[Finding]] = defaultdict(list)
    for numbers in groups.values():
        first = pairs[numbers[0]]
        for number in numbers[1:]:
            pair = pairs[number]
            if pair.split != first.split and pair.question:
                says = f"Also in {first.split or 'no split'} ({first.place}), this one in {pair.split or 'no split'}."
                found[number].append(Finding("split_leak", says, first.sql))
            found[number] += _repeated(pair, first, canonical, answers)
    return found


def _repeated(
    pair: Pair, first: Pair, canonical: Mapping[tuple[str, str], str], answers: Mapping[tuple[str, str], str]
) -> list[Finding]:
    if _statement(pair, canonical) == _statement(first, canonical):
        return [Finding("duplicate", f"Same question and SQL as {first.place}.")]
    one, other = answers.get((pair.db_id, pair.sql)), answers.get((first.db_id, first.sql))
    if one is not None and other is not None and one != other:
        return [Finding("contradiction", f"Asked already in {first.place}, whose SQL gives another answer.", first.sql)]
    return [Finding("same_question", f"Asked already in {first.place}, with another SQL.", first.sql)]


def _statement(pair: Pair, canonical: Mapping[tuple[str, str], str]) -> Hashable:
    return canonical.get((pair.db_id, pair.sql)) or normal_sql(pair.sql)
