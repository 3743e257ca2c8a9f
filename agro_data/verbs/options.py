"""What options of several verbs are made of, and those that are the same in each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

_Verb = TypeVar("_Verb", bound="Callable[..., object] | click.Command")
A_PATH = click.Path(path_type=Path)


def json_of(what: str) -> Callable[[_Verb], _Verb]:
    """The option `--json` of a verb that prints `what`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print the {what} as JSON on standard output.")


as_json = json_of("result")
out_folder = click.option(
    "--out", type=A_PATH, default=Path("datasets"), show_default=True, help="The folder that holds the corpora."
)
corpus_name = click.option("--name", default=None, help="Name of the corpus, when --out holds several.")
