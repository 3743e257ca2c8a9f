"""The differences between two versions of a corpus: rows, distributions, certificates, settings; pure over their
frames.

A row of one version stands for a row of the other when their ids are the same: an id is a hash over database content,
dialect, SQL, question and evidence. Rows whose ids differ are paired, each at most once and in this order, by what else
they share:

| kind | database and dialect, and | differs |
| --- | --- | --- |
| `same` | id | nothing |
| `changed` | id | another column: the split, the steps, the certificate |
| `data` | SQL, question, evidence | the content of the database |
| `reworded` | SQL | question or evidence |
| `rewritten` | question | SQL |
| `added`, `removed` | – | stands in one version alone |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from agro_data.publish.read import Version
from agro_data.publish.summary import SPLITS, schema_coverage
from agro_data.records import EXAMPLE, Columns
from agro_data.sql.difficulty import COMPLEXITY, HARDNESS

KINDS = ("same", "changed", "data", "reworded", "rewritten", "added", "removed")
KEYS = {
    "data": ["db_id", "dialect", "sql", "question", "evidence"],
    "reworded": ["db_id", "dialect", "sql"],
    "rewritten": ["db_id", "dialect", "question"],
}
SCALES = {"split": SPLITS, "hardness": HARDNESS, "complexity": COMPLEXITY}
LABELS = ("split", "hardness", "complexity", "constructs", "style", "db_id", "generator", "dialect")
COMPARED = tuple(name for name in EXAMPLE if name != "example_id")
_ROW: Columns = {
    "kind": pl.String,
    "db_id": pl.String,
    "before": pl.String,
    "after": pl.String,
    "columns": pl.List(pl.String),
}
ROW = pl.Schema(_ROW)


@dataclass(frozen=True)
class Difference:
    """`rows` has the columns of `ROW`: kind, db_id, the ids before and after (null where there is none) and, for
    `changed`, which columns differ. `shares` has label, value, before, after (rows) and points: the change of the share
    of rows, in percentage points. `figures` maps a name to (before, after); None where a version does not say.
    """

    rows: pl.DataFrame
    shares: pl.DataFrame
    figures: Mapping[str, tuple[float | None, float | None]]
    databases: Mapping[str, list[str]]  # added, removed, changed: by the content hash
    settings: Mapping[str, tuple[Any, Any]]  # settings, releases of libraries and seeds that differ
    funnel: pl.DataFrame  # stage, before, after

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each kind, in the order of `KINDS`."""
        counted = dict(self.rows["kind"].value_counts().iter_rows())
        return {kind: int(counted.get(kind, 0)) for kind in KINDS}

    @property
    def changed_columns(self) -> dict[str, int]:
        """In how many rows of kind `changed` a column differs, most common first."""
        columns = (
            self.rows["columns"]
            .explode()
            .drop_nulls()
            .value_counts()
            .sort(["count", "columns"], descending=[True, False])
        )
        return {str(name): int(count) for name, count in columns.iter_rows()}


def compare(before: Version, after: Version) -> Difference:
    """What distinguishes `after` from `before`. Raises `NoVersion` when a manifest cannot be read."""
    old, new = before.examples().collect(), after.examples().collect()
    return Difference(
        rows=paired_rows(old, new),
        shares=shares(old, new),
        figures=_figures(before.manifest, old, after.manifest, new),
        databases=_databases(before.manifest, after.manifest),
        settings=_settings(before.manifest, after.manifest),
        funnel=_funnel(before.manifest, after.manifest),
    )


def paired_rows(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """A row of `ROW` for each row of either frame; rows that correspond to each other share one.

    Both have the columns of `records.EXAMPLE`, each id once. Sorted by kind, database and id.
    """
    found = [_same_id(before, after)]
    left = before.join(after, on="example_id", how="anti").sort("example_id")
    right = after.join(before, on="example_id", how="anti").sort("example_id")
    for kind, key in KEYS.items():
        pairs = _pairs(left, right, key)
        found.append(_rows(kind, pairs["db_id"], pairs["example_id"], pairs["after"]))
        left = left.join(pairs, on="example_id", how="anti")
        right = right.join(pairs, left_on="example_id", right_on="after", how="anti")
    found.append(_rows("removed", left["db_id"], left["example_id"], None))
    found.append(_rows("added", right["db_id"], right["example_id"], None, swapped=True))
    order = pl.col("kind").replace_strict(list(KINDS), list(range(len(KINDS))), return_dtype=pl.Int64)
    return pl.concat(found).sort(order, "db_id", pl.coalesce("after", "before"))


def shares(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Rows with each value of each of `LABELS` in both versions; values of a scale in its order, others by change."""
    found = []
    for label in LABELS:
        old, new = _counted(before, label, "before"), _counted(after, label, "after")
        both = old.join(new, on="value", how="full", coalesce=True).with_columns(
            pl.col("before", "after").fill_null(0).cast(pl.Int64)
        )
        points = 100 * (pl.col("after") / max(after.height, 1) - pl.col("before") / max(before.height, 1))
        both = both.with_columns(points.round(2).alias("points"), pl.lit(label).alias("label"))
        scale = SCALES.get(label)
        if scale:
            rank = pl.col("value").replace_strict(list(scale), list(range(len(scale))), default=len(scale))
            both = both.sort(rank, "value")
        else:
            both = both.sort(pl.col("points").abs(), "value", descending=[True, False])
        found.append(both.select("label", "value", "before", "after", "points"))
    return pl.concat(found)


def summary(difference: Difference) -> dict[str, Any]:
    """All of it but the single rows, JSON-ready."""
    return {
        "rows": difference.counts,
        "changed_columns": difference.changed_columns,
        "figures": {name: {"before": before, "after": after} for name, (before, after) in difference.figures.items()},
        "databases": dict(difference.databases),
        "settings": {name: {"before": old, "after": new} for name, (old, new) in difference.settings.items()},
        "funnel": difference.funnel.to_dicts(),
        "shares": {
            label: difference.shares.filter(pl.col("label") == label).drop("label").to_dicts() for label in LABELS
        },
    }


def _same_id(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    both = before.join(after, on="example_id", suffix="_after").sort("example_id")
    differing = [pl.when(pl.col(name).ne_missing(pl.col(f"{name}_after"))).then(pl.lit(name)) for name in COMPARED]
    columns = both.select(pl.concat_list(differing).list.drop_nulls().alias("columns"))["columns"]
    kind = columns.list.len().replace_strict({0: "same"}, default="changed", return_dtype=pl.String)
    return pl.DataFrame(
        {
            "kind": kind,
            "db_id": both["db_id"],
            "before": both["example_id"],
            "after": both["example_id"],
            "columns": columns,
        },
        schema=ROW,
    )


def _pairs(left: pl.DataFrame, right: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """db_id, example_id, after of rows that agree on `key`: the first of each side together, then the second."""
    turn = pl.int_range(pl.len()).over(key).alias("turn")
    second = right.select(*key, pl.col("example_id").alias("after"), turn)
    joined = left.select(*key, "example_id", turn).join(second, on=[*key, "turn"], nulls_equal=True)
    return joined.select("db_id", "example_id", "after")


def _rows(
    kind: str, db_id: pl.Series, ids: pl.Series, others: pl.Series | None, *, swapped: bool = False
) -> pl.DataFrame:
    nothing = pl.Series([None] * len(ids), dtype=pl.String)
    other = nothing if others is None else others
    before, after = (other, ids) if swapped else (ids, other)
    columns = pl.Series([[]] * len(ids), dtype=pl.List(pl.String))
    kinds = pl.Series([kind] * len(ids), dtype=pl.String)
    return pl.DataFrame(
        {"kind": kinds, "db_id": db_id, "before": before, "after": after, "columns": columns}, schema=ROW
    )


def _counted(frame: pl.DataFrame, label: str, name: str) -> pl.DataFrame:
    values = frame[label].explode() if frame.schema[label] == pl.List(pl.String) else frame[label]
    return values.drop_nulls().rename("value").value_counts(name=name)


def _figures(
    old_manifest: Mapping[str, Any], old: pl.DataFrame, new_manifest: Mapping[str, Any], new: pl.DataFrame
) -> dict[str, tuple[float | None, float | None]]:
    before, after = _certificates(old_manifest, old), _certificates(new_manifest, new)
    return {name: (before[name], after[name]) for name in after}


def _certificates(manifest: Mapping[str, Any], examples: pl.DataFrame) -> dict[str, float | None]:
    total, killed, equivalent, undecided = (
        int(examples[f"mutants_{name}"].sum()) for name in ("total", "killed", "equivalent", "undecided")
    )
    covered = schema_coverage(examples, manifest["databases"])
    known = covered.drop_nulls(["tables_total", "columns_total"])
    return {
        "examples": examples.height,
        "databases": examples["db_id"].n_unique(),
        "skeletons": examples["skeleton"].n_unique(),
        "questions": examples["question"].n_unique(),
        "constructs": examples["constructs"].explode().n_unique(),
        "rejected": manifest["counts"].get("rejected"),
        "mutants": total,
        "kill rate": _ratio(killed, total - equivalent),
        "proved equivalent": equivalent,
        "undecided": undecided,
        "examples with a survivor": int((examples["mutants_undecided"] > 0).sum()),
        "instances of an example": _ratio(int(examples["instances"].list.len().sum()), examples.height),
        "tables used": _ratio(int(known["tables"].sum()), int(known["tables_total"].sum())),
        "columns used": _ratio(int(known["columns"].sum()), int(known["columns_total"].sum())),
    }


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _databases(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[str]]:
    old, new = ({one["db_id"]: one["content_hash"] for one in manifest["databases"]} for manifest in (before, after))
    return {
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
        "changed": sorted(db_id for db_id in new.keys() & old.keys() if new[db_id] != old[db_id]),
    }


def _settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {}
    for part in ("config", "library_versions", "seeds", "schema_serialiser"):
        old, new = before.get(part, {}), after.get(part, {})
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                found[name if part == "config" else f"{part}: {name}"] = (old.get(name), new.get(name))
    return found


def _funnel(before: Mapping[str, Any], after: Mapping[str, Any]) -> pl.DataFrame:
    old, new = ({one["stage"]: one["rows"] for one in manifest.get("funnel", [])} for manifest in (before, after))
    stages = list(dict.fromkeys([*new, *old]))
    return pl.DataFrame(
        {"stage": stages, "before": [old.get(s) for s in stages], "after": [new.get(s) for s in stages]},
        schema={"stage": pl.String, "before": pl.Int64, "after": pl.Int64},
    )
