"""Pairs of question and SQL, and predictions, from any file or folder in which people keep them.

Fields are recognised by their common spellings, in any letter case. A row that lacks what it needs is recorded with
its place, and the others go on.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agro_data.evaluation.rows import BIRD_MARK, LINES, SUFFIXES, Item, LoadProblem, Row, UnreadableInput, read_rows

__all__ = ["LoadProblem", "Loaded", "LoadedPredictions", "Pair", "Prediction", "UnreadableInput"]
__all__ += ["field_of", "files_of", "load_pairs", "load_predictions", "load_questions", "text_of"]

QUESTION = (
    *("question", "utterance", "nl", "nl_question", "natural_language_question", "final_utterance"),
    "spidersynquestion",  # Spider-Syn
)
SQL = ("query", "sql", "gold_sql", "gold", "gold_query", "golden_sql", "sql_query", "target_sql", "ground_truth")
GOLD = ("gold_sql", "gold", "gold_query", "golden_sql", "target_sql", "ground_truth", "query", "sql", "sql_query")
PREDICTED = (
    *("pred", "preds", "prediction", "predictions", "predicted_sql", "pred_sql", "pred_sqls", "predicted_query"),
    *("predicted", "predict_sql", "generated_sql", "model_output", "output", "response", "completion", "completions"),
    *("candidates", "samples"),
)
DATABASE = ("db_id", "db", "database", "database_id", "db_name", "dbid")
EVIDENCE = ("evidence", "external_knowledge", "hint", "knowledge")
IDENTITY = ("example_id", "question_id", "dev_index", "id")
SPLIT = ("split",)
ALTERNATIVES = ("alternatives",)

# Files of the known layouts; a folder with none of them is searched for any file that holds pairs.
_NAMED = ("train.json", "train_spider.json", "train_others.json", "dev.json", "test.json", "validation.json")
_BIRD_MINI = ("mini_dev_sqlite.json",)
_GAPPED = re.compile(r"\A(\d+)\.0\Z")  # how a table with gaps in a column of whole numbers writes one of them
_HALF = re.compile(r"[\ud800-\udfff]")  # of a surrogate pair: JSON can spell it, no file or engine can hold it
_SPLITS = {"train": "train", "dev": "dev", "test": "test", "validation": "validation", "val": "validation"}

_Keyed = tuple[Sequence[Any], Mapping[Any, Sequence[int]]]  # keys of rows; numbers of pairs by key


@dataclass(frozen=True)
class Pair:
    """A question with its SQL. What the source does not say is empty; `place` is where a person finds it."""

    place: str
    db_id: str
    question: str
    sql: str
    evidence: str = ""
    split: str = ""
    identity: str = ""
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """The SQL predicted for a question, in the order given; none when it is missing, "" for an attempt that gave none.
    `gold` may be unknown ("").

    `votes` are what each prediction weighs in a vote, as the leaves of a tree do; () where each weighs one.
    """

    place: str
    db_id: str
    question: str
    gold: str
    predictions: tuple[str, ...]
    evidence: str = ""
    identity: str = ""
    alternatives: tuple[str, ...] = ()
    votes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """Pairs in the order of the source; `problems` were left out, `notes` are worth knowing."""

    pairs: tuple[Pair, ...]
    problems: tuple[LoadProblem, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedPredictions:
    """Predictions in the order of the gold if there is one, else of the source; `problems` were left out."""

    predictions: tuple[Prediction, ...]
    problems: tuple[LoadProblem, ...] = ()


def load_pairs(path: Path | str) -> Loaded:
    """Pairs of a JSON, JSONL, CSV, TSV or Parquet file, of lines "SQL, tab, db_id", or of a folder.

    Folders: Spider (`train*.json`, `dev.json`, `test.json`), BIRD (`dev.json` with `SQL` and `evidence`), a corpus
    version (`data/*.parquet`), or any folder of such files. A question may be missing (lines of SQL have none), SQL
    and database may not. Raises `UnreadableInput` when there is nothing to be used.
    """
    place = Path(path).expanduser()
    if not place.exists():
        raise UnreadableInput(f"{path}: no such file or folder")
    files, notes = files_of(place)
    pairs: list[Pair] = []
    problems: list[LoadProblem] = []
    for file in files:
        items = read_rows(file)
        if place.is_dir() and not any(isinstance(i, Row) and text_of(i.fields, SQL) for i in items):
            notes.append(f"{file.name}: passed over, no SQL in it")
            continue
        _check_fields(file, items, {"SQL": SQL, "database": DATABASE})
        found, wrong = _pairs(file, items)
        pairs += found
        problems += wrong
    if pairs and not any(pair.question for pair in pairs):
        notes.append(f"{place.name}: no question in any row; expected {_spellings(QUESTION)}")
    if not pairs:
        first = f" (first: {problems[0]})" if problems else ""
        expected = f"expected rows with {_spellings(SQL)} and {_spellings(DATABASE)}"
        raise UnreadableInput(f"{path}: no pair of question and SQL{first}; {expected}")
    return Loaded(tuple(pairs), tuple(problems), tuple(notes))


def load_questions(path: Path | str) -> Loaded:
    """Questions as `load_pairs` finds them, of a file whose SQL may also be unknown: then `Pair.sql` is "".

    Raises `UnreadableInput` when no row has a question and a database.
    """
    place = Path(path).expanduser()
    if place.is_dir() or not place.exists():
        return load_pairs(place)
    items = read_rows(place)
    _check_fields(place, items, {"question": QUESTION, "database": DATABASE})
    pairs: list[Pair] = []
    problems = [item for item in items if isinstance(item, LoadProblem)]
    for row in (item for item in items if isinstance(item, Row)):
        pair = _pair(row, _split_of(place))
        if pair.db_id and pair.question:
            pairs.append(pair)
        else:
            problems.append(LoadProblem(row.place, f"no {'question' if pair.db_id else 'database'} in this row"))
    if not pairs:
        raise UnreadableInput(f"{path}: no row with {_spellings(QUESTION)} and {_spellings(DATABASE)}")
    return Loaded(tuple(pairs), tuple(problems))


def load_predictions(path: Path | str, gold: Path | str | None = None) -> LoadedPredictions:
    """Predictions of a file: rows of their own (with db_id, and gold where it is known), or as many as `gold` has.

    With `gold` there is one `Prediction` for each of its pairs, in its order; they are matched by BIRD's number, by id
    if all are known, by question (both within databases, where all rows name theirs), else by place if there are as
    many. A missing prediction is an empty tuple. A prediction without a gold is a problem, and so is one that asks
    something else. Raises `UnreadableInput` when nothing can be used or matched.
    """
    place = Path(path).expanduser()
    items = read_rows(place)
    if not items:
        raise UnreadableInput(f"{path}: the file is empty: no predictions to evaluate")
    if gold is not None:
        _check_fields(place, items, {"prediction": (*PREDICTED, *SQL)})
        return _matched(place, items, load_pairs(gold))
    _check_fields(place, items, {"prediction": PREDICTED, "database": DATABASE})
    predictions: list[Prediction] = []
    problems = [item for item in items if isinstance(item, LoadProblem)]
    rows = [item for item in items if isinstance(item, Row)]
    for row in rows:
        db_id = text_of(row.fields, DATABASE)
        if not db_id:
            problems.append(LoadProblem(row.place, f"no database; expected {_spellings(DATABASE)}"))
            continue
        predictions.append(_prediction(row, db_id))
    if not predictions:
        raise UnreadableInput(f"{path}: no row with a prediction and a database (first: {problems[0]})")
    return LoadedPredictions(tuple(predictions), (*problems, *_no_texts(rows, PREDICTED)))


# --- pairs -------------------------------------------------------------------------------------------------------


def files_of(folder: Path) -> tuple[list[Path], list[str]]:
    """The files of a folder in which pairs are looked for, and which were passed over; a file is its own only one."""
    if folder.is_file():
        return [folder], []
    data = folder / "data"
    if any(data.glob("*.parquet")):
        return sorted(data.glob("*.parquet")), []
    there = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
    known = [folder / name for name in (*_NAMED, *_BIRD_MINI) if (folder / name).is_file()]
    if folder / "train.json" in known:  # holds the two others, where there are all three
        known = [file for file in known if file.name not in ("train_spider.json", "train_others.json")]
    if known:
        others = [f.name for f in there if f not in known and not f.name.endswith("tables.json")]
        return known, [f"{name}: passed over; give the file itself to read it" for name in others]
    lines = sorted(file for file in folder.iterdir() if file.suffix.lower() in LINES and file.is_file())
    files = [file for file in there if not file.name.endswith("tables.json")] or lines
    if not files:
        raise UnreadableInput(f"{folder}: no file of {', '.join((*SUFFIXES, *LINES))} in this folder")
    return files, []


def _pairs(file: Path, items: Sequence[Item]) -> tuple[list[Pair], list[LoadProblem]]:
    pairs: list[Pair] = []
    problems: list[LoadProblem] = []
    split = _split_of(file)
    for item in items:
        if isinstance(item, LoadProblem):
            problems.append(item)
            continue
        pair = _pair(item, split)
        if not pair.sql and "line" in item.fields:
            continue  # a blank line of the official layout separates
        lacks = [name for name, value in (("SQL", pair.sql), ("database", pair.db_id)) if not value]
        if lacks:
            problems.append(LoadProblem(item.place, f"no {' and no '.join(lacks)} in this row"))
        else:
            pairs.append(pair)
    return pairs, problems


def _pair(row: Row, split: str) -> Pair:
    """What a row says, "" where it does not; `split` where it names none itself."""
    fields = row.fields
    return Pair(
        row.place,
        text_of(fields, DATABASE),
        text_of(fields, QUESTION),
        text_of(fields, SQL),
        text_of(fields, EVIDENCE),
        text_of(fields, SPLIT) or split,
        _id_of(fields),
        _texts(fields, ALTERNATIVES),
    )


def _split_of(file: Path) -> str:
    """The split that a file's name says: "train_spider.json", "validation-00000.parquet"."""
    words = re.split(r"[^a-z]+", file.stem.lower())
    return next((_SPLITS[word] for word in words if word in _SPLITS), "")


# --- predictions -------------------------------------------------------------------------------------------------


def _prediction(row: Row, db_id: str) -> Prediction:
    fields = row.fields
    return Prediction(
        row.place,
        db_id,
        text_of(fields, QUESTION),
        text_of(fields, GOLD),
        _predicted(fields, PREDICTED),
        text_of(fields, EVIDENCE),
        _id_of(fields),
        _texts(fields, ALTERNATIVES),
    )


def _matched(path: Path, items: Sequence[Item], gold: Loaded) -> LoadedPredictions:
    problems = [*gold.problems, *(item for item in items if isinstance(item, LoadProblem))]
    rows: list[Item] = list(items)
    if len(rows) != len(gold.pairs):  # blank lines separate, unless they are just as many as the questions
        rows = [item for item in rows if not _is_blank(item)]
    matches = _matches(path, rows, gold, problems)
    names = _names_of_predictions(rows)
    problems += _no_texts(matches.values(), names)
    predictions = []
    for number, pair in enumerate(gold.pairs):
        row = matches.get(number)
        given = _predicted(row.fields, names) if row is not None else ()
        predictions.append(
            Prediction(
                pair.place if row is None else row.place,
                pair.db_id,
                pair.question,
                pair.sql,
                given,
                pair.evidence,
                pair.identity,
                pair.alternatives,
            )
        )
    return LoadedPredictions(tuple(predictions), tuple(problems))


def _names_of_predictions(items: Sequence[Item]) -> Sequence[str]:
    """SQL is what was predicted only in a file without predictions: elsewhere it is the gold, and would score 1."""
    return PREDICTED if any(_has(item.fields, PREDICTED) for item in items if isinstance(item, Row)) else SQL


def _is_blank(item: Item) -> bool:
    return isinstance(item, Row) and not item.fields.get("line", "-").strip()


def _matches(path: Path, items: Sequence[Item], gold: Loaded, problems: list[LoadProblem]) -> Mapping[int, Row]:
    """Number of the pair -> the row that answers it."""
    pairs = gold.pairs
    rows = [item for item in items if isinstance(item, Row)]
    keyed = (_by_number(rows, gold) or _by_identity(rows, pairs) or _by_question(rows, pairs)) if rows else None
    if keyed is not None:
        matches = _in_turn(rows, *keyed, problems)
    elif len(items) == len(pairs):
        matches = {number: item for number, item in enumerate(items) if isinstance(item, Row)}
        _check_order(matches, pairs)
    else:
        raise UnreadableInput(
            f"{path}: {len(items)} predictions for {len(pairs)} questions, and nothing to match them by; give as many, "
            f"or rows with {_spellings(IDENTITY)} that all stand once in the gold, or with {_spellings(DATABASE)} and "
            f"{_spellings(QUESTION)}"
        )
    _check_databases(matches, pairs)
    problems += _other_questions(matches, pairs)
    return matches


def _by_number(rows: Sequence[Row], gold: Loaded) -> _Keyed | None:
    """BIRD's numbers count the questions: they are of no use where a question is left out, or none has that number."""
    keys = [row.number for row in rows if row.number is not None and not _id_of(row.fields)]
    places = {number: [number] for number in range(len(gold.pairs))}
    usable = len(keys) == len(rows) and places.keys() >= set(keys) and not gold.problems
    return (keys, places) if usable else None


def _by_identity(rows: Sequence[Row], pairs: Sequence[Pair]) -> _Keyed | None:
    """Only if each id is that of one pair: where some are unknown, the others may be known by chance."""
    keyed = _keyed(rows, pairs, _identity, lambda pair: pair.identity)
    return keyed if keyed and all(len(keyed[1].get(key, ())) == 1 for key in keyed[0]) else None


def _by_question(rows: Sequence[Row], pairs: Sequence[Pair]) -> _Keyed | None:
    """Only if no question is one of several databases: who names none then means any of them."""
    keyed = _keyed(rows, pairs, lambda row: _plain(text_of(row.fields, QUESTION)), lambda pair: _plain(pair.question))
    if keyed is None:
        return None
    found = [{pairs[number].db_id.lower() for number in keyed[1].get(key, ())} for key in keyed[0]]
    return keyed if any(found) and all(len(databases) <= 1 for databases in found) else None


def _keyed(
    rows: Sequence[Row], pairs: Sequence[Pair], of_row: Callable[[Row], str], of_pair: Callable[[Pair], str]
) -> _Keyed | None:
    """Keys within databases where all rows name theirs, since ids may begin anew in each; None if a row has no key."""
    given = [(text_of(row.fields, DATABASE).lower(), of_row(row)) for row in rows]
    named = all(db_id for db_id, _ in given)
    numbers: dict[Any, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        numbers[pair.db_id.lower() if named else "", of_pair(pair)].append(number)
    keys = [(db_id if named else "", one) for db_id, one in given]
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
        else:
            why = "answered already" if key in waiting else "no such question in the gold file"
            problems.append(LoadProblem(row.place, why))
    return matches


def _identity(row: Row) -> str:
    return _id_of(row.fields) or ("" if row.number is None else str(row.number))


def _plain(question: str) -> str:
    return " ".join(question.casefold().split())


def _check_order(matches: Mapping[int, Row], pairs: Sequence[Pair]) -> None:
    """Rows that are matched by place must not have the ids of other places; ids that no pair has are their own."""
    ids = {number: _id_of(row.fields) for number, row in matches.items()}
    if not {pair.identity for pair in pairs if pair.identity} & set(ids.values()):
        return
    for number, row in matches.items():
        pair = pairs[number]
        if ids[number] and pair.identity and ids[number] != pair.identity:
            raise UnreadableInput(
                f"{row.place} has the id {ids[number]}, but the gold at its place ({pair.place}) has {pair.identity}: "
                "the two files are not in the same order, and not all ids stand once in the gold"
            )


def _check_databases(matches: Mapping[int, Row], pairs: Sequence[Pair]) -> None:
    """Whatever rows are matched by, they must not say that they belong elsewhere."""
    for number, row in matches.items():
        db_id, pair = text_of(row.fields, DATABASE), pairs[number]
        if db_id and db_id.lower() != pair.db_id.lower():
            raise UnreadableInput(
                f"{row.place} is of database {db_id}, but its gold ({pair.place}) is of {pair.db_id}: "
                "the two files are not in the same order, or number their questions otherwise"
            )


def _other_questions(matches: Mapping[int, Row], pairs: Sequence[Pair]) -> list[LoadProblem]:
    """What rows ask that is not the question of their gold, told once for all: they may be numbered otherwise."""
    asked = ((row, text_of(row.fields, QUESTION), pairs[number]) for number, row in matches.items())
    others = [
        (row, pair) for row, text, pair in asked if text and pair.question and _plain(text) != _plain(pair.question)
    ]
    if not others:
        return []
    row, pair = others[0]
    more = f", and so for {len(others) - 1:,} more" if len(others) > 1 else ""
    return [LoadProblem(row.place, f"its question is not that of its gold ({pair.place}){more}")]


# --- fields ------------------------------------------------------------------------------------------------------


def _check_fields(path: Path, items: Sequence[Item], needed: Mapping[str, Sequence[str]]) -> None:
    """Say at once what no row of a file has, with the names it does have."""
    rows = [item for item in items if isinstance(item, Row)]
    for what, names in needed.items():
        if rows and not any(_has(row.fields, names) for row in rows):
            there = ", ".join(list(dict.fromkeys(name for row in rows[:100] for name in row.fields))[:12])
            raise UnreadableInput(f"{path}: no {what} field; expected {_spellings(names)}, found: {there}")


def _spellings(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names[:4])


def _has(fields: Mapping[str, Any], names: Iterable[str]) -> bool:
    present = _spelt(fields)
    return any(name in present for name in names)


def text_of(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first field of these names that holds text or a number. Spider has parse trees under `sql`: no text."""
    field = field_of(fields, names)
    return _held(str(fields[field])).strip() if field else ""


def _id_of(fields: Mapping[str, Any]) -> str:
    """The id of a row, a whole number without the ".0" that it has in a table with gaps."""
    return _GAPPED.sub(r"\1", text_of(fields, IDENTITY))


def field_of(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """The field, as it is written there, from which `text_of` reads; "" if there is none."""
    spelt = _spelt(fields)
    for name in names:
        value = fields[spelt[name]] if name in spelt else None
        number = isinstance(value, int) and not isinstance(value, bool)
        number = number or (isinstance(value, float) and value.is_integer())
        if number or (isinstance(value, str) and value.strip()):
            return spelt[name]
    return ""


def _spelt(fields: Mapping[str, Any]) -> dict[str, str]:
    """How each name, in lower case, is written there; of two spellings in one row the first counts.

    A `query` beside `sql` is the question where nothing else is, unless `sql` is a parse tree, as in Spider.
    """
    spelt = {name.lower(): name for name in reversed(list(fields))}
    both = {"query", "sql"} <= spelt.keys() and not isinstance(fields[spelt["sql"]], Mapping)
    if both and not spelt.keys() & set(QUESTION):
        spelt["question"] = spelt.pop("query")
    return spelt


def _texts(fields: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    folded = _folded(fields)
    value = next((folded[name] for name in names if isinstance(folded.get(name), (list, tuple))), ())
    return tuple(_held(one) for one in value if isinstance(one, str))


def _folded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields by the names of `_spelt`."""
    return {name: fields[spelling] for name, spelling in _spelt(fields).items()}


def _predicted(fields: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Statements predicted, in order: one text, or a list for several attempts; "" for one without an answer, which
    counts where others have one.
    """
    given = next((given for value in _values(fields, names) if (given := _attempts(value)) is not None), ())
    texts = tuple(_held(one or "").split(BIRD_MARK)[0].strip() for one in given)
    return texts if any(texts) else ()


def _values(fields: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    folded = _folded(fields)
    return [folded[name] for name in names if name in folded]


def _attempts(value: Any) -> Sequence[str | None] | None:
    """What a field of predictions holds; None where it is neither text nor a list of texts, nor a gap."""
    gap = value is None or (isinstance(value, float) and math.isnan(value))
    given = [None] if gap else [value] if isinstance(value, str) else value
    texts = isinstance(given, (list, tuple)) and all(one is None or isinstance(one, str) for one in given)
    return given if texts else None


def _no_texts(rows: Iterable[Row], names: Sequence[str]) -> list[LoadProblem]:
    """What would be taken for a missing prediction and is one in another form, told once for all."""
    held = [(row, _values(row.fields, names)) for row in rows]
    others = [(row, values) for row, values in held if values and all(_attempts(one) is None for one in values)]
    if not others:
        return []
    row, values = others[0]
    listed = isinstance(values[0], list)
    kind = next(type(one).__name__ for one in (values[0] if listed else values) if not isinstance(one, str | None))
    more = f", and so for {len(others) - 1:,} more" if len(others) > 1 else ""
    said = f"its prediction is neither text nor a list of texts, but {'a list of ' if listed else ''}{kind}"
    return [LoadProblem(row.place, f"{said}: it scores 0{more}")]


def _held(text: str) -> str:
    """The text as UTF-8 can hold it: half a character, which cut-off text may end with, becomes U+FFFD."""
    return _HALF.sub("\ufffd", text)
