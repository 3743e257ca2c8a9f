"""What a DuckDB file cannot say of a server's tables, written beside it as `semantics.yml`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from agro_data.snapshot.catalog import Reference, Table
from agro_data.snapshot.outcome import Snapshot
from agro_data.snapshot.plan import Planned
from agro_data.work import write_text

Join = tuple[Table, Reference, Table]  # a key that DuckDB cannot declare, between its tables


def describe(copied: Sequence[Planned], joins: Sequence[Join], made: Snapshot) -> None:
    """Write what the file cannot say beside it, unless a person's own words lie there."""
    said: dict[str, Any] = {"tables": {}, "joins": []}
    for one in copied:
        about: dict[str, Any] = {"description": one.table.comment} if one.table.comment else {}
        if commented := {column.name: {"description": column.comment} for column, _ in one.columns if column.comment}:
            about["columns"] = commented
        if about:
            said["tables"][one.table.name] = about
    for child, key, parent in joins:
        said["joins"].append({"from": _end(child, key.columns), "to": _end(parent, key.ref_columns)})
    said = {key: value for key, value in said.items() if value}
    if not said:
        return
    path = made.path.with_name(f"{made.path.stem}.semantics.yml")
    if path.exists():
        made.notes.append(f"{path.name} is there already and was left as it is; the server's comments are not in it")
        return
    write_text(path, yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=10_000))
    made.semantics = path


def _end(table: Table, columns: Sequence[str]) -> str | list[str]:
    """One end of a join as `semantics.yml` writes it."""
    named = [f"{table.name}.{column}" for column in columns]
    return named if len(named) > 1 else named[0]
