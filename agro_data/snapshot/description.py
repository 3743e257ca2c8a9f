"""What a DuckDB file cannot say of a server's tables, written beside it as `semantics.yml`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from agro_data.files import write_text
from agro_data.snapshot.catalog import Reference, Table
from agro_data.snapshot.outcome import Snapshot
from agro_data.snapshot.plan import Planned

Join = tuple[Table, Reference, Table]  # a key that DuckDB cannot declare, between its tables

_MARK = "# Written by `agro snapshot`, which writes it anew as long as nobody has changed it: "


def describe(copied: Sequence[Planned], joins: Sequence[Join], made: Snapshot) -> None:
    """Write what the file cannot say beside it, in place of what an earlier snapshot wrote; a person's words stay."""
    path = made.path.with_name(f"{made.path.stem}.semantics.yml")
    said = _said(copied, joins)
    if path.exists() and not _is_ours(path):
        lacks = "; the server's comments and further keys are not in it" if said else ""
        made.notes.append(f"{path.name} is there already and was left as it is{lacks}")
    elif said:
        body = yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=10_000)
        write_text(path, f"{_MARK}{_digest(body.encode())}\n{body}")
        made.semantics = path
    else:
        path.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Whether a file is as an earlier snapshot wrote it."""
    mark, _, body = path.read_bytes().partition(b"\n")
    return mark == f"{_MARK}{_digest(body)}".encode()


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def _said(copied: Sequence[Planned], joins: Sequence[Join]) -> dict[str, Any]:
    """The content of the file, without what is empty."""
    tables: dict[str, Any] = {}
    for one in copied:
        about: dict[str, Any] = {"description": one.table.comment} if one.table.comment else {}
        if commented := {column.name: {"description": column.comment} for column, _ in one.columns if column.comment}:
            about["columns"] = commented
        if about:
            tables[one.table.kept] = about
    ends = [{"from": _end(child, key.columns), "to": _end(parent, key.ref_columns)} for child, key, parent in joins]
    return {key: value for key, value in {"tables": tables, "joins": ends}.items() if value}


def _end(table: Table, columns: Sequence[str]) -> str | list[str]:
    """One end of a join as `semantics.yml` writes it."""
    named = [f"{table.kept}.{column}" for column in columns]
    return named if len(named) > 1 else named[0]
