"""Templates of Markdown pages, and how figures and texts stand in them."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader, StrictUndefined


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def literal(text: str) -> str:
    """A text on one line that stands as it is, in Markdown outside of code: names of files may be of any characters."""
    return re.sub(r"([\\`*\[<&])", r"\\\1", " ".join(text.split()))


TEMPLATES = Environment(
    loader=PackageLoader("agro_data.publish"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,
    keep_trailing_newline=True,
)
TEMPLATES.filters |= {"percent": _percent, "cell": _cell, "number": lambda value: f"{value:,}"}
