"""What options of several verbs are made of, and those that are the same in each."""

from __future__ import annotations

from pathlib import Path

import click

A_PATH = click.Path(path_type=Path)

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")
