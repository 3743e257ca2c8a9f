"""The fields of a row by the names that people give them, in any letter case, with spaces or underscores between words.

A file of cells has no lists: there one of golds is JSON in a cell.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agro_data.rows import BIRD_MARK, Item, LoadProblem, Row, UnreadableInput, kind_of

QUESTION = (
    *("question", "utterance", "nl", "nl_question", "natural_language_question", "final_utterance"),
    "spidersynquestion",  # Spider-Syn
    "sql_prompt",  # Gretel
)
SQL = ("query", "sql", "gold_sql", "gold", "gold_query", "golden_sql", "sql_query", "target_sql", "ground_truth")
GOLD = ("gold_sql", "gold", "gold_query", "golden_sql", "target_sql", "ground_truth", "query", "sql", "sql_query")
_WRITTEN = ("pred", "predicted", "predict", "prediction", "generated", "final", "output", "candidate")
PREDICTED = (
    *("pred", "preds", "prediction", "predictions", "predicted_sql", "pred_sql", "pred_sqls", "predicted_query"),
    *("predicted", "pred_sql_query", "predicted_sql_query"),
    *(f"{how}_{what}" for how in (*_WRITTEN, "model", "llm") for what in ("sql", "query")),
    *(f"{what}_{how}" for how in _WRITTEN for what in ("sql", "query")),  # `sql_model` says which model
    # Beside these, what may have words around the SQL.
    *("generated", "generated_text", "model_output", "output", "response", "completion", "completions"),
    *("candidates", "samples"),
)
DATABASE = ("db_id", "db", "database", "database_id", "db_name", "dbid", "database_name")
EVIDENCE = ("evidence", "external_knowledge", "hint", "knowledge", "full_instructions", "instructions")
IDENTITY = ("example_id", "question_id", "dev_index", "id")
SPLIT = ("split",)
ALTERNATIVES = ("alternatives",)
ANSWERABLE = "answerable"
IMPOSSIBLE = "is_impossible"  # EHRSQL, SQuAD

_GAPPED = re.compile(r"\A(\d+)\.0\Z")  # how a table with gaps in a column of whole numbers writes one of them
_BARS = re.compile(r"\s\|\|\|\s+(?=(?:select|with)\b|\()", re.IGNORECASE)  # between golds; no SQL has three
_GAPS = re.compile(r"[\s-]+")  # between the words of a name
_HALF = re.compile(r"[\ud800-\udfff]")  # of a surrogate pair: JSON can spell it, no file or engine can hold it


def check_fields(path: Path, items: Sequence[Item], needed: Mapping[str, Sequence[str]]) -> None:
    """Say at once what no row of a file has, with the names it does have."""
    rows = [item for item in items if isinstance(item, Row)]
    for what, names in needed.items():
        if rows and not any(has_any(row.fields, names) for row in rows):
            there = ", ".join(list(dict.fromkeys(name for row in rows[:100] for name in row.fields))[:12])
            raise UnreadableInput(f"{path}: no {what} field; expected {spellings(names)}, found: {there}")


def spellings(names: Sequence[str]) -> str:
    """The commonest names of a field, for a message."""
    return " or ".join(f"`{name}`" for name in names[:4])


def has_any(fields: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether a row has a field of these names, whatever it holds."""
    present = _spelt(fields)
    return any(name in present for name in names)


def text_of(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first field of these names that holds text or a number. Spider has parse trees under `sql`: no text."""
    field = field_of(fields, names)
    return _held(str(fields[field])).strip() if field else ""


def id_of(fields: Mapping[str, Any]) -> str:
    """The id of a row, a whole number without the ".0" that it has in a table with gaps."""
    return _GAPPED.sub(r"\1", text_of(fields, IDENTITY))


def golds_of(fields: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """The gold of these names, and what is right beside it: the rest of a list of golds, and `alternatives`."""
    field = field_of(fields, names, lists=True)
    if not field:
        return ()
    value = listed(fields[field])
    golds = value if isinstance(value, list | tuple) else (value,)
    return tuple(dict.fromkeys((*(_held(str(one)).strip() for one in golds), *texts_of(fields, ALTERNATIVES))))


def field_of(fields: Mapping[str, Any], names: Sequence[str], lists: bool = False) -> str:
    """The field, as it is written there, from which `text_of` reads (`golds_of`: with `lists`); "" if there is none."""
    spelt = _spelt(fields)
    for name in names:
        value = fields[spelt[name]] if name in spelt else None
        number = isinstance(value, int) and not isinstance(value, bool)
        number = number or (isinstance(value, float) and value.is_integer())
        texts = lists and isinstance(value, list | tuple) and value and all(map(_is_text, value))
        if number or texts or _is_text(value):
            return spelt[name]
    return ""


def listed(value: Any) -> Any:
    """The list of texts that a text is as JSON, or between three bars, as no SQL is; else what was given."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        golds = _BARS.split(value)
        return golds if len(golds) > 1 else value
    try:
        held = json.loads(value)
    except (ValueError, RecursionError):
        return value
    texts = isinstance(held, list) and held and all(one is None or isinstance(one, str) for one in held)
    return held if texts and any(held) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _spelt(fields: Mapping[str, Any]) -> dict[str, str]:
    """How each name, in lower case, is written there; of two spellings in one row the first counts.

    A `query` beside `sql` is the question where nothing else is, unless `sql` is a parse tree, as in Spider.
    """
    spelt = {_GAPS.sub("_", name.strip().lower()): name for name in reversed(list(fields))}
    both = {"query", "sql"} <= spelt.keys() and not isinstance(fields[spelt["sql"]], Mapping)
    if both and not spelt.keys() & set(QUESTION):
        spelt["question"] = spelt.pop("query")
    return spelt


def texts_of(fields: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """The texts of the first field of these names that holds a list."""
    folded = _folded(fields)
    held = (listed(folded.get(name)) for name in names)
    value = next((one for one in held if isinstance(one, (list, tuple))), ())
    return tuple(_held(one) for one in value if isinstance(one, str))


def has_answer(fields: Mapping[str, Any]) -> bool:
    """Whether SQL can answer the row's question: a corpus version says of some that it cannot, and so does EHRSQL."""
    folded = _folded(fields)
    answerable, impossible = (str(folded.get(name)).strip().lower() for name in (ANSWERABLE, IMPOSSIBLE))
    return answerable not in ("false", "0") and impossible not in ("true", "1")


def _folded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields by the names of `_spelt`."""
    return {name: fields[spelling] for name, spelling in _spelt(fields).items()}


def predicted_in(fields: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
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


def no_texts(rows: Iterable[Row], names: Sequence[str]) -> list[LoadProblem]:
    """A note on predictions in another form, which would be taken for missing ones; one note for all."""
    held = [(row, _values(row.fields, names)) for row in rows]
    others = [(row, values) for row, values in held if values and all(_attempts(one) is None for one in values)]
    if not others:
        return []
    row, values = others[0]
    listed = isinstance(values[0], list)
    kind = next(kind_of(one) for one in (values[0] if listed else values) if not isinstance(one, str | None))
    more = f", and so for {len(others) - 1:,} more" if len(others) > 1 else ""
    said = f"its prediction is neither text nor a list of texts, but {'a list with ' if listed else ''}{kind}"
    return [LoadProblem(row.place, f"{said}: it scores 0{more}")]


def _held(text: str) -> str:
    """The text as UTF-8 can hold it: half a character, which cut-off text may end with, becomes U+FFFD."""
    return _HALF.sub("\ufffd", text)
