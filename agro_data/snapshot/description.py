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
        if len(key.columns) > 1:
            made.notes.append(f"{child}: its key ({', '.join(key.columns)}) to {parent} can be declared nowhere")
            continue
        said["joins"].append({"from": f"{child.name}.{key.columns[0]}", "to": f"{parent.name}.{key.ref_columns[0]}"})
    said = {key: value for key, value in said.items() if value}
    if not said:
        return
    path = made.path.with_name(f"{made.path.stem}.semantics.yml")
    if path.exists():
        made.notes.append(f"{path.name} is there already and was left as it is; the server's comments are not in it")
        return
    write_text(path, yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=10_000))
    made.semantics = path
