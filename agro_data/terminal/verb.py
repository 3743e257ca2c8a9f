"""The verbs of `agro` as click has them: help in sections, and what is said when one is stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from agro_data.databases.errors import interruptible
from agro_data.faults import NO_SPACE

_ONE_FOLDER = "several databases or files go into one folder (of links: ln -s /data/*.sqlite folder)"


class Setting(click.Option):
    """An option that stands under a heading of the help."""

    def __init__(self, *arguments: Any, section: str = "Options", **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.section = section


class _Helped(click.Command):
    """Helps at `-h` as at `--help`, whether it is called by itself or by the group that it is in."""

    def __init__(self, *, context_settings: Mapping[str, Any] | None = None, **settings: Any) -> None:
        names = {"help_option_names": ["-h", "--help"]}
        super().__init__(context_settings={**names, **(context_settings or {})}, **settings)


class Verb(_Helped):
    """A command whose options are listed under their headings, in the order in which they are declared.

    Nothing that it was given is dropped without a word: of an option that was given twice click takes the last.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True  # refused below, in our words
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        rest = super().parse_args(ctx, args)
        for option, times in Counter(one for one in given if isinstance(one.type, click.Path)).items():
            if times > 1 and option.nargs == 1 and not getattr(option, "multiple", False):
                ctx.fail(f"{option.opts[0]} is given {times} times, and takes one path; {_ONE_FOLDER}")
        if rest:
            named = any(one.name == "databases" for one in given) or all(one.name != "databases" for one in self.params)
            hint = _ONE_FOLDER if named else "databases are named by --databases"
            ctx.fail(f"{rest[0]!r} is one more than this verb takes" + f"; {hint}" * Path(rest[0]).exists())
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        with interruptible():
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=28)


class Resumed(Verb):
    """A verb that keeps what is finished, and says so when it is stopped, by a full disk, too."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.exceptions.Abort("the same command goes on where it was") from error
        except OSError as error:
            if error.errno in NO_SPACE:
                error.add_note("it goes on where it was")
            raise


@dataclass(frozen=True)
class Mounted:
    """A verb where it stands, function `<name>_command` of the module `<name>` of a package; and its first sentence,
    for which it is not loaded.
    """

    name: str
    package: str
    says: str

    def load(self) -> click.Command:
        """The command itself."""
        name = self.name.replace("-", "_")
        command = getattr(import_module(f"{self.package}.{name}"), f"{name}_command")
        assert isinstance(command, click.Command)
        return command


def mounted(package: str, verbs: Mapping[str, str]) -> tuple[Mounted, ...]:
    """The verbs of a package, each with its first sentence."""
    return tuple(Mounted(name, package, says) for name, says in verbs.items())


class Verbs(_Helped, click.Group):
    """A group that lists its verbs in the order of use, each with its whole first sentence.

    Those of `verbs` are loaded when they are asked for.
    """

    command_class = Verb

    def __init__(self, *arguments: Any, verbs: Sequence[Mounted] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.mounted = {verb.name: verb for verb in verbs}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.mounted, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.mounted[cmd_name].load() if cmd_name in self.mounted else super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, command.get_short_help_str(limit=200)) for name, command in self.commands.items()]
        with formatter.section("Verbs"):
            formatter.write_dl([*((verb.name, verb.says) for verb in self.mounted.values()), *own])
