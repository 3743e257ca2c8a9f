"""Exports that tests make."""

from __future__ import annotations

from pathlib import Path

import agro_data
from agro_data.publish.read import Version


def exported(corpus: Version, form: str, out: Path) -> Path:
    run = agro_data.RunConfig(cache=corpus.path.parents[2] / "cache")
    return agro_data.export(corpus, form, out / form, run=run).path
