"""The reference, read off the code: `python -m agro_train.reference docs/reference` (`make docs`) writes its pages.

What is shown is what the program itself would say: the help of its verbs, settings with their defaults and the comment
that they are declared with, columns with their types, classes of findings, and what Dagster loads.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import click
import polars as pl
from dagster import AssetKey, AssetsDefinition, ConfigurableResource, JobDefinition, OpDefinition

from agro_data.config import BuildConfig, RunConfig
from agro_data.databases import digest
from agro_data.files import write_text
from agro_data.pairs.finding import KINDS
from agro_data.publish.card import COLUMNS, INDEX_COLUMNS, MUTANT_COLUMNS
from agro_data.publish.version import MUTANTS
from agro_data.records import EXAMPLE, INSTANCE_INDEX, REJECTED, STEP
from agro_train.aligning import AlignConfig
from agro_train.cli import agro
from agro_train.cold_start import ColdStartConfig
from agro_train.evaluate import EvaluationConfig
from agro_train.reinforcement.config import GrpoConfig

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WIDTH = 100  # of help, whatever the terminal
Verb = tuple[str, click.Context]
COMMENTED = re.compile(r"    (\w+): .*?  # (.+)")
SETTINGS: Mapping[str, tuple[type[DataclassInstance], ...]] = {
    "`agro build`, `agro_data.build(...)`: what decides a corpus": (BuildConfig,),
    "`agro_data.build(..., run=RunConfig(...))`: how it is made; changes no byte of the corpus": (RunConfig,),
    "`agro train cold-start`, `python -m agro_train.cold_start`, `python -m agro_train.teach`": (ColdStartConfig,),
    "`agro train grpo`, `python -m agro_train.grpo`": (GrpoConfig,),
    "`python -m agro_train.evaluate`": (EvaluationConfig,),
    "`agro align`, `python -m agro_train.aligning`": (AlignConfig,),
}


def commands() -> str:
    """Every verb with the help that it prints."""
    parts = [_page("Commands", "The help of every verb, as `--help` prints it.")]
    for path, context in _verbs(agro, "agro"):
        parts.append(f"\n## `{path}`\n\n```text\n{context.get_help().rstrip()}\n```\n")
    return "".join(parts)


def settings() -> str:
    """Every setting of a build and of the training programs: type, default, meaning."""
    intro = (
        "Given as options where a verb has them, and all of them as JSON with `--config FILE`. In Dagster they stand\n"
        "in the launchpad ([dagster.md](dagster.md))."
    )
    parts = [_page("Settings", intro)]
    for heading, kinds in SETTINGS.items():
        for kind in kinds:
            rows = [(f"`{name}`", of, default, meaning) for name, of, default, meaning in declared(kind)]
            parts.append(
                f"\n## {kind.__name__}\n\n{heading}.\n\n" + _table(("setting", "type", "default", "meaning"), rows)
            )
    return "".join(parts)


def columns() -> str:
    """Every column that a version stores, with its type, and what its digests are made of."""
    parts = [_page("Columns", "What the Parquet files of a corpus version hold.")]
    for heading, schema, meanings in (
        ("Examples: `data/*.parquet`", EXAMPLE, COLUMNS),
        ("A step of `steps`", STEP.to_schema(), None),
        ("Rejected rows: `rejected/*.parquet`", REJECTED, None),
        ("Instances: `instances/index.parquet`", INSTANCE_INDEX, INDEX_COLUMNS),
        ("What became of each mutant: `instances/mutants.parquet`", MUTANTS, MUTANT_COLUMNS),
    ):
        rows = [
            (f"`{name}`", _stored(kind), *([] if meanings is None else [meanings[name]]))
            for name, kind in schema.items()
        ]
        head = ("column", "type") if meanings is None else ("column", "type", "meaning")
        parts.append(f"\n## {heading}\n\n" + _table(head, rows))
    parts.append("\nThe kinds of mistakes: [mutants](../mutants.md).\n")
    told = inspect.getdoc(digest) or ""
    parts.append("\n## Digests: `result_digest`, `gold_digest`\n\n")
    parts.append(told.partition("Format. ")[2].partition(">>> ")[0].rstrip() + "\n")
    return "".join(parts)


def findings() -> str:
    """Every class of `agro verify` and `agro audit`."""
    rows = [
        (f"`{kind.name}`", kind.severity + ("" if kind.certain else ", possible"), kind.title, kind.remedy)
        for kind in KINDS.values()
    ]
    intro = (
        "What `agro verify` and `agro audit` say of a pair. A pair is *sound* when nothing certain and graver than a\n"
        "note is found; *possible*: a person has to look."
    )
    return _page("Findings", intro) + "\n" + _table(("class", "severity", "what", "what to do"), rows)


def dagster() -> str:
    """Jobs, assets with their launchpad settings, checks, resources, sensors and schedules."""
    from agro_train.definitions import defs  # noqa: PLC0415 (it takes a second)

    graph = defs.resolve_asset_graph()
    nodes = [graph.get(key) for key in graph.toposorted_asset_keys]
    jobs = [
        (
            f"`{job.name}`",
            job.description or "",
            _names(node.key for node in nodes if node.key in job.asset_layer.executable_asset_keys),
        )
        for job in sorted(defs.resolve_all_job_defs(), key=lambda job: job.name)
        if not job.name.startswith("__")  # what Dagster adds itself
    ]
    assets = [
        (
            *(
                _names([node.key]),
                node.group_name,
                _names(sorted(node.parent_keys)),
                ", ".join(sorted(node.pools or ())),
            ),
            _first(node.description),
        )
        for node in nodes
    ]
    checks = [
        (
            f"`{key.name}`",
            _names([key.asset_key]),
            "stops what follows" if graph.get(key).blocking else "warns",
            _first(graph.get(key).description),
        )
        for node in nodes
        for key in sorted(node.check_keys, key=lambda key: key.name)
    ]
    parts = [
        _page("Dagster", "What the code location `agro_train.definitions` holds."),
        "\n## Jobs\n\n" + _table(("job", "what it does", "assets, in order"), jobs),
        "\n## Assets\n\n" + _table(("asset", "group", "after", "pool", "what"), assets),
        "\n## Checks\n\n" + _table(("check", "of", "when it fails", "holds when"), checks),
    ]
    for heading, held in (("Sensors", defs.sensors or ()), ("Schedules", defs.schedules or ())):
        timed = [(f"`{one.name}`", _first(one.description), one.default_status.value.lower()) for one in held]
        parts += [f"\n## {heading}\n\n" + _table(("name", "what it does", "at first"), timed)] if timed else []
    ops = {
        f"ops: {one.op.name}": one.op.config_schema for one in defs.assets or () if isinstance(one, AssetsDefinition)
    }
    ops |= {
        f"ops: {node.name}": node.config_schema
        for job in defs.jobs or ()
        if isinstance(job, JobDefinition)
        for node in job.all_node_defs
        if isinstance(node, OpDefinition)
    }
    resources = {
        f"resources: {name}": one.to_config_schema()
        for name, one in (defs.resources or {}).items()
        if isinstance(one, ConfigurableResource)
    }
    for name, schema in (ops | resources).items():
        rows = _configurable(schema)
        parts += [f"\n## `{name}`\n\n" + _table(("setting", "default", "meaning"), rows)] if rows else []
    return "".join(parts)


PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": commands,
    "settings.md": settings,
    "columns.md": columns,
    "findings.md": findings,
    "dagster.md": dagster,
}


def declared(kind: type[DataclassInstance]) -> Iterator[tuple[str, str, str, str]]:
    """Name, type, default and meaning of each field of a dataclass of settings.

    Raises `ValueError` for a field that is declared without a comment that says what it means.
    """
    lines = [line for base in reversed(kind.__mro__[:-1]) for line in inspect.getsource(base).splitlines()]
    said = {found[1]: found[2] for found in map(COMMENTED.match, lines) if found}
    hints = get_type_hints(kind)
    for field in fields(kind):
        if field.name not in said:
            raise ValueError(f"{kind.__name__}.{field.name}: say what it means, in a comment at the end of its line")
        default = "required" if field.default is MISSING else _value(field.default)
        yield field.name, _given(hints[field.name]), default, said[field.name]


def main(arguments: list[str] | None = None) -> None:
    """Write every page into a folder."""
    parser = argparse.ArgumentParser(prog="python -m agro_train.reference", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="where the pages go: docs/reference")
    folder = parser.parse_args(arguments).folder
    for name, render in PAGES.items():
        write_text(folder / name, render())


def _page(title: str, intro: str) -> str:
    return f"# {title}\n\n<!-- Written by `make docs`: change the code instead. -->\n\n{intro}\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *cells])


def _verbs(command: click.Command, path: str, above: click.Context | None = None) -> Iterator[Verb]:
    """A command and all below it, in the order of its help, each with the context that its help is written in."""
    width: dict[str, Any] = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, above, path.rpartition(" ")[2], **{**command.context_settings, **width})
    yield path, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None, f"{path} lists {name}"
            yield from _verbs(below, f"{path} {name}", context)


def _given(hint: Any) -> str:
    """A type in words."""
    named = {int: "whole number", float: "number", str: "text", bool: "true or false", Path: "path"}
    if hint in named:
        return named[hint]
    arguments = get_args(hint)
    if type(None) in arguments:
        return _given(next(one for one in arguments if one is not type(None)))
    if arguments and all(isinstance(one, str) for one in arguments):
        return " or ".join(f"`{one}`" for one in arguments)
    return "list" if get_origin(hint) is not None else getattr(hint, "__name__", str(hint))


def _value(default: Any) -> str:
    """A default as JSON has it; – for what is empty."""
    if default is None or default in ("", ()) or default in ([], {}):
        return "–"
    return f"`{default}`" if isinstance(default, str | Path) else f"`{json.dumps(default)}`"


def _stored(kind: Any) -> str:
    """A column's type in words."""
    if isinstance(kind, pl.List):
        return f"list of {_stored(kind.inner)}"
    if isinstance(kind, pl.Struct):
        return "struct"
    return {"String": "string", "Int64": "int64", "Float64": "float64", "Boolean": "bool"}[str(kind)]


def _first(text: str | None) -> str:
    """The first paragraph."""
    return (text or "").partition("\n\n")[0]


def _names(keys: Iterable[AssetKey]) -> str:
    return ", ".join(f"`{key.to_user_string()}`" for key in keys)


def _configurable(schema: Any) -> list[tuple[str, str, str]]:
    """Settings of an op or a resource, as its launchpad lists them."""
    kind = schema.as_field().config_type
    return [
        (f"`{name}`", "required" if field.is_required else _value(field.default_value), field.description or "")
        for name, field in getattr(kind, "fields", {}).items()
    ]


if __name__ == "__main__":
    main()
