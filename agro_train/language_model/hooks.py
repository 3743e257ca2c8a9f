"""TRL's own names that training stands in for: what stands in for a name that is gone is never called."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from agro_data.config import ConfigError


def check_hooks(owner: Any, *names: str) -> None:
    """Raise `ConfigError` where `owner`, a class or module of TRL's, has no function or class of one of these names."""
    for name in names:
        if not callable(getattr(owner, name, None)):
            raise ConfigError(
                f"{owner.__name__} of trl {version('trl')} with transformers {version('transformers')} has no {name}, "
                "which training stands in for: install the releases that it was made with, "
                "`pip install -c constraints.txt trl transformers`"
            )
