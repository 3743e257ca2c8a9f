"""The shipped sample domains: each a `domains/<name>.sql` with its `domains/<name>.yml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from agro_data.databases.types import Dialect
from agro_data.populate.hints import Plan, read_table
from agro_data.populate.rows import build_rows
from agro_data.populate.schema import PopulateError, Rows, Schema, read_ddl

FOLDER = Path(__file__).parent / "domains"


@dataclass(frozen=True)
class Domain:
    """`semantics` is what goes into `<name>.semantics.yml` beside the database."""

    name: str
    engine: Dialect
    schema: Schema
    plan: Plan
    semantics: Mapping[str, Any]
    source: str  # the text of both files: what the database depends on, apart from seed and code

    def rows(self, seed: int) -> Rows:
        return build_rows(self.schema, self.plan, seed)


def domain_names() -> tuple[str, ...]:
    """Names of the domains that are shipped, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.sql")))


@lru_cache(maxsize=32)
def load_domain(name: str, folder: Path = FOLDER) -> Domain:
    """The domain `name`. Raises `PopulateError` naming file and entry where a definition does not hold together."""
    try:
        ddl, text = [(folder / f"{name}.{kind}").read_text(encoding="utf-8") for kind in ("sql", "yml")]
        body = yaml.safe_load(text)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise PopulateError(f"{folder / name}.yml and .sql: not to be read: {error}") from error
    parts = [body.get("tables"), body.get("semantics") or {}] if isinstance(body, dict) else [body]
    if not all(isinstance(part, dict) for part in parts):
        raise PopulateError(f"{name}.yml: expected a mapping with tables and semantics, each a mapping")
    extra = sorted(set(body) - {"engine", "tables", "semantics"})
    if extra:
        raise PopulateError(f"{name}.yml: unknown entries {extra}; there are engine, tables, semantics")
    plan = {table: read_table(entry, f"{name}.yml: {table}") for table, entry in body["tables"].items()}
    return Domain(
        name, body.get("engine", "sqlite"), read_ddl(name, ddl), plan, body.get("semantics") or {}, ddl + text
    )
