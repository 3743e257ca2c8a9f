"""The folders of the official Spider and BIRD data sets: questions, gold files, schemas, databases."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from agro_data.evaluation.exact_match.grammar import parse
from agro_data.evaluation.exact_match.names import names_of
from agro_data.evaluation.exact_match.tokens import NotRead
from agro_data.exports.material import Content, ExportError, Form, LeftOut, Material, by_split, counted
from agro_data.exports.reinforcement import database_place
from agro_data.profiling.profile import ColumnProfile, DatabaseProfile

SPIDER_FILES = {"train": "train_spider", "validation": "dev", "test": "test"}
BIRD_FILES = {"train": "train", "validation": "dev", "test": "test"}
BIRD_GOLDS = {"train": "train_gold.sql", "dev": "dev.sql", "test": "test_gold.sql"}
BIRD_LEVELS = {"simple": "simple", "moderate": "moderate", "complex": "challenging", "highly_complex": "challenging"}
NO_SQLITE = "its database is no SQLite file"
NO_LINE = "its SQL has a tab or a line break"
NO_EVIDENCE = "it needs its evidence, and Spider's files have no field for that"
REFUSED = "the official parser refuses its SQL"
_TYPES = {
    "integer": "number",
    "real": "number",
    "date": "time",
    "datetime": "time",
    "time": "time",
    "boolean": "boolean",
}


def spider(material: Material) -> Form:
    """`train_spider.json`, `dev.json` (our validation), `test.json`, their `*_gold.sql` of lines "SQL, tab, db_id",
    `tables.json` and `database/<db_id>/<db_id>.sqlite`. Rows of other engines are left out, and those with evidence,
    without which nobody can answer them; of `dev` and `test` those too whose SQL the official parser refuses, since the
    official script ends at such a gold.
    """
    rows, left_out = _readable(material)
    rows, unsaid = _without_evidence(material, rows)
    rows, refused = _parsed(material, rows)
    files: dict[str, Content] = {}
    for split, part in by_split(rows).items():
        name = SPIDER_FILES[split]
        questions = part.select("db_id", pl.col("sql").alias("query"), "question", "hardness", "example_id")
        files[f"{name}.json"] = _json(questions.to_dicts())
        files[f"{name.removesuffix('_spider')}_gold.sql"] = _golds(part)
    names = rows["db_id"].unique().sort().to_list()
    files["tables.json"] = _json([schema_entry(material.sources[name].profile) for name in names])
    files |= {database_place(name, "sqlite"): material.sources[name].database.path for name in names}
    return Form(files, counted(rows), left_out + unsaid + refused)


def bird(material: Material) -> Form:
    """`train/`, `dev/` (our validation) and `test/`, each with `<name>.json`, gold lines, `<name>_tables.json` and
    `<name>_databases/<db_id>/` with the SQLite file and `database_description/*.csv`. Rows of other engines are
    left out.
    """
    rows, left_out = _readable(material)
    files: dict[str, Content] = {}
    for split, part in by_split(rows).items():
        name = BIRD_FILES[split]
        questions = part.select(
            pl.int_range(pl.len(), dtype=pl.Int64).alias("question_id"),
            *("db_id", "question"),
            pl.col("evidence").fill_null(""),
            pl.col("sql").alias("SQL"),
            pl.col("complexity").replace_strict(BIRD_LEVELS).alias("difficulty"),
            "example_id",
        )
        files[f"{name}/{name}.json"] = _json(questions.to_dicts())
        files[f"{name}/{BIRD_GOLDS[name]}"] = _golds(part)
        names = part["db_id"].unique().sort().to_list()
        files[f"{name}/{name}_tables.json"] = _json([schema_entry(material.sources[one].profile) for one in names])
        for one in names:
            files[f"{name}/{database_place(one, 'sqlite', f'{name}_databases')}"] = material.sources[one].database.path
            described = f"{name}/{name}_databases/{one}/database_description"
            files |= {f"{described}/{table}.csv": text for table, text in descriptions(material.sources[one].profile)}
    return Form(files, counted(rows), left_out)


def schema_entry(profile: DatabaseProfile) -> dict[str, Any]:
    """The entry of one database in a `tables.json`: columns are told by their place in `column_names`.

    A key of several columns is a list in `primary_keys`, as BIRD writes it, and pair by pair in `foreign_keys`.
    """
    columns = [(number, column) for number, table in enumerate(profile.tables) for column in table.columns]
    names = [(profile.tables[number].name, column.name) for number, column in columns]
    places = {name: place for place, name in enumerate(names, start=1)}
    keys = [[places[table.name, name] for name in table.primary_key] for table in profile.tables if table.primary_key]
    return {
        "db_id": profile.db_id,
        "table_names_original": [table.name for table in profile.tables],
        "table_names": [table.plural or table.name for table in profile.tables],
        "column_names_original": [[-1, "*"], *([number, column.name] for number, column in columns)],
        "column_names": [[-1, "*"], *([number, column.phrase or column.name] for number, column in columns)],
        "column_types": ["text", *(_type(column) for _, column in columns)],
        "primary_keys": [key[0] if len(key) == 1 else key for key in keys],
        "foreign_keys": [
            [places[key.table, child], places[key.ref_table, parent]]
            for key in profile.foreign_keys
            for child, parent in zip(key.columns, key.ref_columns, strict=True)
        ],
    }


def descriptions(profile: DatabaseProfile) -> Iterable[tuple[str, str]]:
    """Each table with BIRD's description of its columns, as CSV."""
    for table in profile.tables:
        if "/" in table.name or table.name.startswith("."):
            continue  # no name of a file
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            ["original_column_name", "column_name", "column_description", "data_format", "value_description"]
        )
        for column in table.columns:
            codes = "; ".join(f"{value}: {meaning}" for value, meaning in column.codes)
            kind = {"number": "integer" if column.kind == "integer" else "real"}.get(_type(column), "text")
            writer.writerow([column.name, column.phrase, column.description, kind, codes])
        yield table.name, text.getvalue()


def _type(column: ColumnProfile) -> str:
    return _TYPES.get(column.kind, "others" if column.kind in ("blob", "other") else "text")


def _readable(material: Material) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """Rows that the official scripts can read, and why others are left out."""
    if material.private:
        raise ExportError(
            f"{material.corpus} {material.version} was made with --values synthetic: this layout holds the databases "
            "themselves, and the source is not given away. Export sft, openai, grpo, verl or verifiers"
        )
    whole = (pl.col("dialect") == "sqlite") & ~pl.col("sql").str.contains(r"[\t\r\n]")
    kept, others = material.rows.filter(whole), material.rows.filter(~whole)
    if kept.is_empty():
        raise ExportError(
            f"{material.corpus} {material.version}: no row is about an SQLite database, as this layout needs"
        )
    left_out = (
        LeftOut(row["example_id"], row["split"], NO_SQLITE if row["dialect"] != "sqlite" else NO_LINE)
        for row in others.iter_rows(named=True)
    )
    return kept, tuple(left_out)


def _without_evidence(material: Material, rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """The rows whose question can be answered as it stands."""
    needs = pl.col("evidence").fill_null("") != ""
    kept, others = rows.filter(~needs), rows.filter(needs)
    if kept.is_empty():
        raise ExportError(
            f"{material.corpus} {material.version}: every row about an SQLite database needs its evidence, and "
            "Spider's files have no field for that; export bird"
        )
    ids = others.select("example_id", "split").iter_rows()
    return kept, tuple(LeftOut(example_id, split, NO_EVIDENCE) for example_id, split in ids)


def _parsed(material: Material, rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """The rows without golds to evaluate on that Spider's own parser refuses (CTE, window, CASE, outer join, `<>`)."""
    columns = {name: names_of(material.sources[name].database)[0] for name in rows["db_id"].unique()}
    refused: dict[str, LeftOut] = {}
    held_back = rows.filter(pl.col("split") != "train")
    for example_id, split, db_id, sql in held_back.select("example_id", "split", "db_id", "sql").rows():
        try:
            parse(sql, columns[db_id])
        except NotRead as error:
            refused[example_id] = LeftOut(example_id, split, REFUSED, str(error))
    return rows.filter(~pl.col("example_id").is_in(list(refused))), tuple(refused.values())


def _golds(rows: pl.DataFrame) -> str:
    return "".join(f"{sql}\t{db_id}\n" for sql, db_id in rows.select("sql", "db_id").iter_rows())


def _json(value: list[dict[str, Any]] | list[Mapping[str, Any]]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
