"""Which row of predictions answers which pair of the gold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agro_data.databases.discovery.identity import meant_among
from agro_data.evaluation.fields import DATABASE, IDENTITY, QUESTION, id_of, spellings, text_of
from agro_data.evaluation.lines import goes_on
from agro_data.evaluation.loaded import Loaded, Pair
from agro_data.rows import Item, LoadProblem, Row, UnreadableInput
from agro_data.words import counted

_Keyed = tuple[Sequence[Any], Mapping[Any, Sequence[int]]]  # keys of rows; numbers of pairs by key


def matched_rows(
    path: Path, items: Sequence[Item], gold: Loaded, problems: list[LoadProblem], notes: list[str]
) -> Mapping[int, Row]:
    """Number of the pair -> the row that answers it. Notes for a person are added to the two lists."""
    pairs = gold.pairs
    rows = [item for item in items if isinstance(item, Row)]
    keyed = (_by_number(rows, gold) or _by_identity(rows, pairs) or _by_question(rows, pairs)) if rows else None
    if keyed is not None:
        matches = _in_turn(rows, *keyed, problems)
    elif len(items) == len(pairs):
        order = _counted(items, gold)
        matches = {number: item for number, item in zip(order, items, strict=True) if isinstance(item, Row)}
        _check_order(matches, pairs)
        if said := _by_what(rows, pairs, order):
            notes.append(f"{path.name}: {said}")
    else:
        raise UnreadableInput(
            f"{path}: {counted(len(items), 'predictions')} for {counted(len(pairs), 'questions')}, and nothing "
            f"to match them by{_odd_id(rows, pairs)}{_odd_line(items)}; give as many, or rows with "
            f"{spellings(IDENTITY)} that all stand once in the gold, or with {spellings(DATABASE)} and "
            f"{spellings(QUESTION)}"
        )
    _check_databases(matches, pairs)
    problems += _other_questions(matches, pairs)
    return matches


def _counted(items: Sequence[Item], gold: Loaded) -> Sequence[int]:
    """The number of the pair of each item: its place, or its id where no id is one of the gold's, and these count its
    pairs. They are of no use where a question is left out of the gold.
    """
    places = range(len(gold.pairs))
    ids = [_identity(item) for item in items if isinstance(item, Row)]
    known = any(pair.identity in ids for pair in gold.pairs if pair.identity)
    if gold.problems or known or sorted(ids) != sorted(map(str, places)):
        return places
    return list(map(int, ids))


def _by_what(rows: Sequence[Row], pairs: Sequence[Pair], order: Sequence[int]) -> str:
    """What a person should know of how rows with ids that the gold does not have were matched; "" for nothing."""
    ids, own = {_identity(row) for row in rows} - {""}, {pair.identity for pair in pairs} - {""}
    if not ids or ids & own:
        return ""
    what = "no id in it is one of the gold's" if own else "the gold has no ids"
    if list(order) != list(range(len(pairs))):
        return f"{what}; the ids in it are taken for the places of the questions there, from 0"
    in_order = [_identity(row) for row in rows] == list(map(str, order))
    return "" if in_order else f"{what}; rows are matched by their place"


def _by_number(rows: Sequence[Row], gold: Loaded) -> _Keyed | None:
    """BIRD's numbers count the questions: they are of no use where a question is left out, or none has that number."""
    keys = [row.number for row in rows if row.number is not None and not id_of(row.fields)]
    places = {number: [number] for number in range(len(gold.pairs))}
    usable = len(keys) == len(rows) and places.keys() >= set(keys) and not gold.problems
    return (keys, places) if usable else None


def _by_identity(rows: Sequence[Row], pairs: Sequence[Pair]) -> _Keyed | None:
    """Only if each id belongs to exactly one pair: if some are unknown, the others may match by chance."""
    keyed = _keyed(rows, pairs, _identity, lambda pair: pair.identity)
    return keyed if keyed and all(len(keyed[1].get(key, ())) == 1 for key in keyed[0]) else None


def _by_question(rows: Sequence[Row], pairs: Sequence[Pair]) -> _Keyed | None:
    """Only if no question belongs to several databases: a row without a database could then mean any of them."""
    keyed = _keyed(rows, pairs, lambda row: plain(text_of(row.fields, QUESTION)), lambda pair: plain(pair.question))
    if keyed is None:
        return None
    found = [{pairs[number].db_id.lower() for number in keyed[1].get(key, ())} for key in keyed[0]]
    return keyed if any(found) and all(len(databases) <= 1 for databases in found) else None


def _keyed(
    rows: Sequence[Row], pairs: Sequence[Pair], of_row: Callable[[Row], str], of_pair: Callable[[Pair], str]
) -> _Keyed | None:
    """Keys within databases where all rows name theirs, since ids may begin anew in each; None if a row has no key."""
    given = [(text_of(row.fields, DATABASE), of_row(row)) for row in rows]
    named = all(db_id for db_id, _ in given)
    meant = meant_among(pair.db_id for pair in pairs)
    numbers: dict[Any, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        numbers[meant(pair.db_id) if named else "", of_pair(pair)].append(number)
    keys = [(meant(db_id) if named else "", one) for db_id, one in given]
    return (keys, numbers) if all(one for _, one in given) else None


def _in_turn(
    rows: Sequence[Row],
    keys: Sequence[Any],
    numbers: Mapping[Any, Sequence[int]],
    problems: list[LoadProblem],
) -> Mapping[int, Row]:
    """Questions that occur several times are answered in turn."""
    waiting = {key: list(found) for key, found in numbers.items()}
    matches: dict[int, Row] = {}
    for row, key in zip(rows, keys, strict=True):
        if waiting.get(key):
            matches[waiting[key].pop(0)] = row
        elif key in waiting:
            before = matches[numbers[key][-1]].place
            problems.append(
                LoadProblem(row.place, f"answers what {before} answered, which is what counts: passed over")
            )
        else:
            problems.append(LoadProblem(row.place, "no such question in the gold file"))
    return matches


def _identity(row: Row) -> str:
    """The id of a row, which BIRD's number is where it has no other."""
    return id_of(row.fields) or ("" if row.number is None else str(row.number))


def _odd_id(rows: Sequence[Row], pairs: Sequence[Pair]) -> str:
    """The first id for which ids match nothing, where others are known."""
    keyed = _keyed(rows, pairs, _identity, lambda pair: pair.identity) if rows else None
    often = [len(keyed[1].get(key, ())) for key in keyed[0]] if keyed else []
    if not any(often):
        return ""
    row, count = next((row, count) for row, count in zip(rows, often, strict=True) if count != 1)
    return f" ({row.place} has the id {_identity(row)}, which {count or 'no'} questions of the gold have)"


def _odd_line(items: Sequence[Item]) -> str:
    place = goes_on(items)
    return f" ({place} begins no statement: one of several lines counts as several predictions)" if place else ""


def plain(question: str) -> str:
    """A question without what does not make it another: letter case and spaces."""
    return " ".join(question.casefold().split())


def _check_order(matches: Mapping[int, Row], pairs: Sequence[Pair]) -> None:
    """Rows that are matched by place must not have the ids of other places; ids that no pair has are their own."""
    ids = {number: _identity(row) for number, row in matches.items()}
    if not {pair.identity for pair in pairs if pair.identity} & set(ids.values()):
        return
    for number, row in matches.items():
        pair = pairs[number]
        if ids[number] and pair.identity and ids[number] != pair.identity:
            raise UnreadableInput(
                f"{row.place} has the id {ids[number]}, but the gold at its place ({pair.place}) has {pair.identity}: "
                "the two files are not in the same order, or not all ids stand once in the gold"
            )


def _check_databases(matches: Mapping[int, Row], pairs: Sequence[Pair]) -> None:
    """Whatever rows are matched by, they must not say that they belong elsewhere."""
    meant = meant_among(pair.db_id for pair in pairs)
    for number, row in matches.items():
        db_id, pair = text_of(row.fields, DATABASE), pairs[number]
        if db_id and meant(db_id) != meant(pair.db_id):
            raise UnreadableInput(
                f"{row.place} is of database {db_id}, but its gold ({pair.place}) is of {pair.db_id}: "
                "the two files are not in the same order, or number their questions otherwise"
            )


def _other_questions(matches: Mapping[int, Row], pairs: Sequence[Pair]) -> list[LoadProblem]:
    """A note on rows whose question is not their gold's, one for all: they may be numbered otherwise."""
    asked = ((row, text_of(row.fields, QUESTION), pairs[number]) for number, row in matches.items())
    others = [
        (row, pair) for row, text, pair in asked if text and pair.question and plain(text) != plain(pair.question)
    ]
    if not others:
        return []
    row, pair = others[0]
    more = f", and so for {len(others) - 1:,} more" if len(others) > 1 else ""
    return [LoadProblem(row.place, f"its question is not that of its gold ({pair.place}){more}")]
