"""Pairs of question and SQL, and predictions, from any file or folder in which people keep them.

A row that lacks what it needs is recorded with its place, and the others go on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agro_data.databases.discovery.catalog import EXPORT
from agro_data.evaluation.fields import (
    DATABASE,
    EVIDENCE,
    GOLD,
    PREDICTED,
    QUESTION,
    SPLIT,
    SQL,
    check_fields,
    field_of,
    golds_of,
    has_answer,
    has_any,
    id_of,
    no_texts,
    predicted_in,
    spellings,
    text_of,
)
from agro_data.evaluation.lines import as_many
from agro_data.evaluation.loaded import Loaded, LoadedPredictions, Pair, Prediction
from agro_data.evaluation.matching import matched_rows, plain
from agro_data.folders import files_gone
from agro_data.rows import (
    LINES,
    SUFFIXES,
    Item,
    LoadProblem,
    Row,
    UnreadableInput,
    is_western,
    read_rows,
)
from agro_data.words import counted

# Files of the known layouts; a folder with none of them is searched for any file that holds pairs.
_NAMED = ("train.json", "train_spider.json", "train_others.json", "dev.json", "test.json", "validation.json")
_BIRD_MINI = ("mini_dev_sqlite.json",)
SHOWN = 3  # folders with such files that are named where a folder has none itself
_NO_PAIRS = ("tables.json", EXPORT)  # ends of the names of files that have others' facts
AUDIT_REPORT = "report.jsonl"  # lies beside the pairs that an audit wrote, and repeats them
ORIGINAL = "_original"  # what an audit adds to the name of what was before
_SPLITS = {"train": "train", "dev": "dev", "test": "test", "validation": "validation", "val": "validation"}


def load_pairs(path: Path | str, database: str = "") -> Loaded:
    """Pairs of a JSON, JSONL, CSV, TSV or Parquet file, of lines "SQL, tab, db_id", or of a folder. `database` is the
    one that they are about where no row of a file names any.

    Folders: Spider (`train*.json`, `dev.json`, `test.json`), BIRD (`dev.json` with `SQL` and `evidence`), a corpus
    version (`data/*.parquet`), or any folder of such files. A question may be missing (lines of SQL have none), SQL
    and database may not. Raises `UnreadableInput` when there is nothing to be used.
    """
    place = Path(path).expanduser()
    if not place.exists():
        raise UnreadableInput(f"{path}: no such file or folder")
    files, notes = files_of(place)
    notes += _western(files)
    pairs: list[Pair] = []
    problems: list[LoadProblem] = []
    for file in files:
        items = _about(read_rows(file), database)
        if place.is_dir() and not any(isinstance(i, Row) and golds_of(i.fields, SQL) for i in items):
            notes.append(f"{file.name}: passed over, no SQL in it")
            continue
        check_fields(file, items, {"SQL": SQL, "database": DATABASE})
        found, wrong = _pairs(file, items)
        pairs += found
        problems += wrong
    if pairs and not any(pair.question for pair in pairs):
        notes.append(f"{place.name}: no question in any row; expected {spellings(QUESTION)}")
    if not pairs:
        if place.is_file() and not items:
            raise UnreadableInput(f"{path}: the file is empty: no pair of question and SQL")
        first = f" (first: {problems[0]})" if problems else ""
        expected = f"expected rows with {spellings(SQL)} and {spellings(DATABASE)}"
        raise UnreadableInput(f"{path}: no pair of question and SQL{first}; {expected}")
    return Loaded(tuple(pairs), tuple(problems), tuple(notes))


def pairs_in(rows: Iterable[Mapping[str, Any]], database: str = "") -> Loaded:
    """Pairs of rows that a program holds, as `load_pairs` reads them from a file."""
    items = _about(_held(rows, "pairs", "db_id, question and query"), database)
    named = Path("pairs")
    check_fields(named, items, {"SQL": SQL, "database": DATABASE})
    found, wrong = _pairs(named, items)
    if not found:
        raise UnreadableInput(f"no pair of question and SQL{f' (first: {wrong[0]})' if wrong else ''}")
    return Loaded(tuple(found), tuple(wrong))


def load_questions(path: Path | str, database: str = "") -> Loaded:
    """Questions as `load_pairs` finds them, about `database` where no row names any. The file need not have SQL:
    `Pair.sql` is then "".

    Raises `UnreadableInput` when no row has a question and a database.
    """
    place = Path(path).expanduser()
    if place.is_dir() or not place.exists():
        return load_pairs(place, database)
    items = _about(read_rows(place), database)
    check_fields(place, items, {"question": QUESTION, "database": DATABASE})
    pairs: list[Pair] = []
    problems = [item for item in items if isinstance(item, LoadProblem)]
    for row in (item for item in items if isinstance(item, Row)):
        pair = _pair(row, _split_of(place))
        if pair.db_id and pair.question:
            pairs.append(pair)
        else:
            problems.append(LoadProblem(row.place, f"no {'question' if pair.db_id else 'database'} in this row"))
    if not items:
        raise UnreadableInput(f"{path}: the file is empty: no question")
    if not pairs:
        raise UnreadableInput(f"{path}: no row with {spellings(QUESTION)} and {spellings(DATABASE)}")
    return Loaded(tuple(pairs), tuple(problems), tuple(_western([place])))


def load_predictions(path: Path | str, gold: Path | str | None = None, database: str = "") -> LoadedPredictions:
    """Predictions of a file: rows of their own (with db_id, and gold where it is known), or as many as `gold` has.
    `database` is the one that they are about where no row names any.

    With `gold` there is one `Prediction` for each of its pairs that has an answer, in its order; they are matched by
    BIRD's number, by id if all are known, by question (both within databases, where all rows name theirs), else by
    place if there are as many. A missing prediction is an empty tuple. A prediction without a gold is a problem, and
    so is one that asks something else. Raises `UnreadableInput` when nothing can be used or matched.
    """
    place = Path(path).expanduser()
    items = read_rows(place)
    if not items:
        raise UnreadableInput(f"{path}: the file is empty: no predictions to evaluate")
    found = _predictions(place, items, gold, database)
    return replace(found, notes=(*_western([place]), *found.notes))


def predictions_in(rows: Iterable[Mapping[str, Any]], gold: Path | str | None, database: str) -> LoadedPredictions:
    """Predictions of rows that a program holds, as `load_predictions` reads them from a file."""
    items = _held(rows, "predictions", "db_id, gold and pred")
    return _predictions(Path("predictions"), items, gold, database)


def _held(rows: Iterable[Mapping[str, Any]], what: str, fields: str) -> list[Row]:
    """Rows of a program, told by their number. Raises `UnreadableInput` where there is none, or one is no mapping."""
    given = list(rows)
    if not given:
        raise UnreadableInput(f"no {what}: no row was given")
    other = next((type(one).__name__ for one in given if not isinstance(one, Mapping)), "")
    if other:
        raise UnreadableInput(f"{what}: expected rows with {fields} (mappings), found {other}")
    return [Row(f"row {number:,}", dict(fields)) for number, fields in enumerate(given, 1)]


def only_database(databases: Path | str) -> str:
    """The id of the one database that a person gave as a file; "" for a folder."""
    place = Path(databases).expanduser()
    return place.stem if place.is_file() else ""


def _about(items: Sequence[Item], database: str) -> list[Item]:
    """The rows, with this database where none of them names one."""
    if not database or any(isinstance(item, Row) and text_of(item.fields, DATABASE) for item in items):
        return list(items)
    return [
        replace(item, fields={**item.fields, "db_id": database}) if isinstance(item, Row) else item for item in items
    ]


def _predictions(path: Path, items: Sequence[Item], gold: Path | str | None, database: str) -> LoadedPredictions:
    """Predictions of the rows of a file, which messages name."""
    if gold is not None:
        check_fields(path, items, {"prediction": (*PREDICTED, *SQL)})
        found = _matched(path, items, load_pairs(gold, database))
        return replace(found, notes=(*_western(files_of(Path(gold).expanduser())[0]), *found.notes))
    items = _about(items, database)
    held = [item.fields for item in items if isinstance(item, Row)]
    if held and not any(has_any(fields, (*PREDICTED, *QUESTION)) for fields in held) and has_any(held[0], SQL):
        raise UnreadableInput(f"{path}: SQL, and nothing to hold it against; give the questions' file with --gold")
    check_fields(path, items, {"prediction": PREDICTED, "database": DATABASE})
    predictions: list[Prediction] = []
    without = 0
    problems = [item for item in items if isinstance(item, LoadProblem)]
    rows = [item for item in items if isinstance(item, Row)]
    for row in rows:
        db_id = text_of(row.fields, DATABASE)
        if not db_id:
            problems.append(LoadProblem(row.place, f"no database; expected {spellings(DATABASE)}"))
            continue
        if has_answer(row.fields):
            predictions.append(_prediction(row, db_id))
        else:
            without += 1
    if not predictions:
        first = f" (first: {problems[0]})" if problems else ""
        raise UnreadableInput(
            "; ".join([f"{path}: no row with a prediction and a database{first}", *_left_out(without)])
        )
    notes = (*_left_out(without), *_asked_again(predictions), *_all_golds(predictions))
    return LoadedPredictions(tuple(predictions), (*problems, *no_texts(rows, PREDICTED)), notes)


# --- pairs -------------------------------------------------------------------------------------------------------


def files_of(folder: Path) -> tuple[list[Path], list[str]]:
    """The files of a folder in which pairs are looked for, and which were passed over; a file is its own only one.

    Raises `UnreadableInput` where there are none, with the folders below that have some: BIRD's root is such a folder.
    """
    files, notes = _looked_for(folder)
    if not files:
        below = [one.name for one in _folders_below(folder) if _looked_for(one)[0]]
        more = f" and {len(below) - SHOWN} more" if len(below) > SHOWN else ""
        there = f"; there are some in {', '.join(below[:SHOWN])}{more}: give one of these" if below else ""
        raise UnreadableInput(f"{folder}: no file of {', '.join((*SUFFIXES, *LINES))} in this folder{there}")
    return files, notes


def _folders_below(folder: Path) -> list[Path]:
    below = (one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    return sorted(one for one in below if os.access(one, os.R_OK | os.X_OK))


def _looked_for(folder: Path) -> tuple[list[Path], list[str]]:
    if folder.is_file():
        return [folder], []
    data = folder / "data"
    if any(data.glob("*.parquet")):
        _check_complete(folder)
        return sorted(data.glob("*.parquet")), []
    there = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES and file.is_file())
    known = [folder / name for name in (*_NAMED, *_BIRD_MINI) if (folder / name).is_file()]
    if folder / "train.json" in known:  # holds the two others, where there are all three
        known = [file for file in known if file.name not in ("train_spider.json", "train_others.json")]
    if known:
        others = [f.name for f in there if f not in known and not f.name.endswith(_NO_PAIRS)]
        return known, [f"{name}: passed over; give the file itself to read it" for name in others]
    lines = sorted(file for file in folder.iterdir() if file.suffix.lower() in LINES and file.is_file())
    pairs = [file for file in there if not file.name.endswith(_NO_PAIRS)]
    files = [file for file in pairs if file.name != AUDIT_REPORT] or _without_originals(lines) or pairs
    report = [file for file in pairs if file.name == AUDIT_REPORT and file not in files]
    return files, [f"{file.name}: passed over as an audit's report; give the file itself to read it" for file in report]


def _check_complete(version: Path) -> None:
    """Raise `UnreadableInput` where a corpus version has lost a file of its rows."""
    try:
        manifest = json.loads((version / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none of ours
        return
    if isinstance(manifest, dict) and (gone := files_gone(version, manifest, "data/*.parquet")):
        raise UnreadableInput(f"{version}: damaged: {gone[0]} is missing; copy it anew, or give one of its files")


def _western(files: Iterable[Path]) -> list[str]:
    """That files were read as of Windows' western code page, which nothing in them says."""
    texts = (file for file in files if file.suffix.lower() != ".parquet")
    return [f"{file.name}: not UTF-8, read as Windows-1252" for file in texts if is_western(file.read_bytes())]


def _without_originals(files: Sequence[Path]) -> list[Path]:
    """Without the files as they were before an audit, which lie beside those that it wrote."""
    old = {file.with_stem(f"{file.stem}{ORIGINAL}") for file in files}
    return [file for file in files if file not in old]


def _pairs(file: Path, items: Sequence[Item]) -> tuple[list[Pair], list[LoadProblem]]:
    pairs: list[Pair] = []
    problems: list[LoadProblem] = []
    split = _split_of(file)
    for item in items:
        if isinstance(item, LoadProblem):
            problems.append(item)
            continue
        pair = _pair(item, split)
        if not pair.sql and item.line is not None:
            continue  # a blank line of the official layout separates
        needed = (("SQL", pair.sql or not pair.answerable), ("database", pair.db_id))
        lacks = [name for name, value in needed if not value]
        if lacks:
            problems.append(LoadProblem(item.place, f"no {' and no '.join(lacks)} in this row"))
        else:
            pairs.append(pair)
    return pairs, problems


def _pair(row: Row, split: str) -> Pair:
    """What a row says, "" where it does not; `split` where it names none itself."""
    fields = row.fields
    sql, *others = golds_of(fields, SQL) or ("",)
    return Pair(
        row.place,
        text_of(fields, DATABASE),
        text_of(fields, QUESTION),
        sql,
        evidence=text_of(fields, EVIDENCE),
        split=text_of(fields, SPLIT) or split,
        identity=id_of(fields),
        alternatives=tuple(others),
        answerable=has_answer(fields),
    )


def _split_of(file: Path) -> str:
    """The split that a file's name says: "train_spider.json", "validation-00000.parquet"."""
    words = re.split(r"[^a-z]+", file.stem.lower())
    return next((_SPLITS[word] for word in words if word in _SPLITS), "")


# --- predictions -------------------------------------------------------------------------------------------------


def _prediction(row: Row, db_id: str) -> Prediction:
    fields = row.fields
    gold, *others = golds_of(fields, GOLD) or ("",)
    return Prediction(
        row.place,
        db_id,
        text_of(fields, QUESTION),
        gold,
        predicted_in(fields, PREDICTED),
        evidence=text_of(fields, EVIDENCE),
        identity=id_of(fields),
        alternatives=tuple(others),
    )


def _matched(path: Path, items: Sequence[Item], gold: Loaded) -> LoadedPredictions:
    problems = [*gold.problems, *(item for item in items if isinstance(item, LoadProblem))]
    rows, told = as_many(items, {pair.db_id for pair in gold.pairs}, len(gold.pairs))
    matches = matched_rows(path, rows, gold, problems, told)
    names = _names_of_predictions(rows)
    problems += no_texts(matches.values(), names)
    predictions = []
    for number, pair in enumerate(gold.pairs):
        if not pair.answerable:
            continue
        row = matches.get(number)
        given = predicted_in(row.fields, names) if row is not None else ()
        predictions.append(
            Prediction(
                pair.place if row is None else row.place,
                pair.db_id,
                pair.question,
                pair.sql,
                given,
                evidence=pair.evidence,
                identity=pair.identity,
                alternatives=pair.alternatives,
            )
        )
    if not predictions:
        raise UnreadableInput("; ".join([f"{path}: nothing to score", *_left_out(len(gold.pairs))]))
    notes = (
        *told,
        *_left_out(len(gold.pairs) - len(predictions)),
        *_read_as_predicted(matches.values(), names),
        *_all_golds(predictions),
    )
    return LoadedPredictions(tuple(predictions), tuple(problems), notes)


def _left_out(count: int) -> tuple[str, ...]:
    """A note on questions of a corpus version that a model should ask back: as elsewhere, no metric counts them."""
    said = f"{counted(count, 'questions')} without one answer"
    why = "`answerable` is false, or `is_impossible` true"
    return (f"left out, since no SQL can be right there: {said} ({why})",) if count else ()


def _asked_again(predictions: Sequence[Prediction]) -> tuple[str, ...]:
    """A note on rows that occur twice, one for all; a row without id and question may be another's paraphrase."""
    first: dict[tuple[str, str], Prediction] = {}
    again: list[Prediction] = []
    for row in predictions:
        name = row.identity or plain(row.question)
        if name and first.setdefault((row.db_id.lower(), name), row) is not row:
            again.append(row)
    if not again:
        return ()
    row = again[0]
    before = first[row.db_id.lower(), row.identity or plain(row.question)]
    said = f"{row.place} asks what {before.place} asked: each is counted"
    return (f"{said}, and so for {len(again) - 1:,} more" if len(again) > 1 else said,)


def _all_golds(predictions: Sequence[Prediction]) -> tuple[str, ...]:
    if not all(row.gold and set(row.predictions) == {row.gold} for row in predictions):
        return ()
    return ("each prediction is its gold, letter by letter: is it the file of golds that was given?",)


def _read_as_predicted(rows: Iterable[Row], names: Sequence[str]) -> tuple[str, ...]:
    """That a field which commonly holds the gold was taken for what was predicted; lines of SQL have no field."""
    read = dict.fromkeys(field_of(row.fields, names) for row in rows if row.line is None)
    fields = ", ".join(f"`{name}`" for name in read if name)
    if names is not SQL or not fields:
        return ()
    return (f"predictions are read from {fields}: no row has {spellings(PREDICTED)}",)


def _names_of_predictions(items: Sequence[Item]) -> Sequence[str]:
    """SQL is what was predicted only in a file without predictions: elsewhere it is the gold, and would score 1."""
    return PREDICTED if any(has_any(item.fields, PREDICTED) for item in items if isinstance(item, Row)) else SQL
