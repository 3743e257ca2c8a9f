"""Errors that are in words already fail a step with these words, and no stack beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import dagster as dg

from agro_data.errors import InWords
from agro_data.parallel import ShardsLost
from agro_data.terminal.running import in_words

_OPTION = re.compile(r"`[^`]*`|(?<![^\s(])--([a-z]+(?:-[a-z]+)*)")  # commands are quoted, and stay what they are
# An option that is repeated, with DB_ID=LICENSE or a licence for all, is one setting here, by database.
_LICENSE = re.compile(r"--source-license (?:(\S+)=)?LICENSE\b")
_SEVERAL = {"source_license": "source_licenses"}
# What is called otherwise here is named beside the option: "--out (in Dagster `datasets` of the resource place)".
_OTHERWISE = re.compile(r"--[a-z-]+(?: [A-Z]+)? \(in Dagster ([^()]+)\)")


@contextmanager
def said() -> Iterator[None]:
    """What `agro` would say in a line is the description of the failure."""
    try:
        yield
    except ShardsLost as error:
        raise failure(str(error)) from None
    except (InWords, OSError) as error:  # a disk that is full, a folder that may not be written to
        raise failure(in_words(error)) from None


def failure(text: str, called: Mapping[str, str] = _SEVERAL) -> dg.Failure:
    """The failure of a step that would fail again, in the words of `by_settings`."""
    return dg.Failure(description=by_settings(text, called), allow_retries=False)


def by_settings(text: str, called: Mapping[str, str] = _SEVERAL) -> str:
    """What `agro` says by its options, by the settings of the same names: `repo_id` for --repo-id. `called` are those
    of other names; such settings may also be named in the text, as in "--out (in Dagster `datasets`)".
    """

    def setting(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        name = found[1].replace("-", "_")
        return f"`{called.get(name, name)}`"

    return _OPTION.sub(setting, _OTHERWISE.sub(r"\1", _LICENSE.sub(_by_database, text)))


def _by_database(found: re.Match[str]) -> str:
    return f"`source_licenses: {{{found[1] or '*'!r}: LICENSE}}`"
