"""What a command of Dagster's prints last: the words of the step that failed, behind stacks and what was not run."""

from __future__ import annotations

import click
import dagster as dg


@dg.failure_hook
def last_words(context: dg.HookContext) -> None:
    """Say once more what a `dagster.Failure` has said, when the command that runs it ends; no other way of running has
    such an end.
    """
    command = click.get_current_context(silent=True)
    error = context.op_exception
    if command is None or not isinstance(error, dg.Failure) or not error.description:
        return
    said = f"\n{context.step_key}: {error.description}"
    command.find_root().call_on_close(lambda: click.echo(said, err=True))
