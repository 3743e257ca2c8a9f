"""`agro explain`: why an example is believed."""

from __future__ import annotations

from pathlib import Path

import click

from agro_data.publish.explain import explain
from agro_data.publish.read import open_version
from agro_data.shown import print_json
from agro_data.terminal.showing import put
from agro_data.terminal.streams import screen
from agro_data.terminal.verb import Verb
from agro_data.verbs.choosing import version_with, whole
from agro_data.verbs.options import A_PATH, as_json, corpus_name, out_folder


@click.command(name="explain", cls=Verb)
@click.argument("example_id")
@click.option("--version", "version_path", type=A_PATH, help="Its folder.  [default: the newest under --out with it]")
@out_folder
@corpus_name
@as_json
def explain_command(example_id: str, version_path: Path | None, out: Path, name: str | None, as_json: bool) -> None:
    """Say in plain words why an example is believed; the first 4 digits of its id are enough.

    \b
    Example:
      agro explain 3f2a9c0d
    """
    version = open_version(version_path) if version_path else version_with(example_id, out, name)
    with whole(version):
        text = explain(version, example_id, width=min(screen.width, 100) if screen.is_terminal else 100)
    print_json({"example_id": example_id, "explanation": text}) if as_json else put(text)
