"""Profiles written by hand, a column a line."""

from __future__ import annotations

from agro_data.profiling.profile import ColumnProfile, TableProfile


def column(name: str, kind: str, role: str, phrase: str, **more: object) -> ColumnProfile:
    return ColumnProfile(name, kind, kind, role, phrase, **more)  # type: ignore[arg-type]


def table(name: str, *columns: ColumnProfile, label: str = "name") -> TableProfile:
    key = column("id", "integer", "identifier", "id", unique=True)
    many = {"person": "people", "country": "countries"}.get(name, f"{name}s")
    return TableProfile(name, 40, (key, *columns), name, many, primary_key=("id",), label_columns=(label,))
