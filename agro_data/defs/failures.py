"""Errors that are in words already fail a step with these words, and no stack beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from agro_data.config import InWords
from agro_data.parallel import ShardsLost
from agro_data.terminal import in_words

_OPTION = re.compile(r"`[^`]*`|(?<![^\s(])--([a-z]+(?:-[a-z]+)*)")  # commands are quoted, and stay what they are
_SEVERAL = {"source_license": "source_licenses"}  # an option that is repeated is one setting here


@contextmanager
def said() -> Iterator[None]:
    """What `agro` would say in a line is the description of the failure."""
    try:
        yield
    except ShardsLost as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    except (InWords, OSError) as error:  # a disk that is full, a folder that may not be written to
        raise dg.Failure(description=in_words(error), allow_retries=False) from error
