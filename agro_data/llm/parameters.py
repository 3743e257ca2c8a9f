"""What of a request a model does not take: its server says so, and is asked otherwise from then on.

OpenAI's models that reason refuse `max_tokens` (they take `max_completion_tokens`, of which their thoughts are a part),
`stop`, and any temperature but their own. Which do is not told beforehand.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

log = logging.getLogger(__name__)

_RENAMED = {"max_tokens": "max_completion_tokens"}
_DRAWN = ("temperature", "seed")  # without which a model draws what it likes
_LEFT_OUT = frozenset({*_DRAWN, "top_p", "stop"})
_CODES = ("unsupported_parameter", "unsupported_value")
_SAID = re.compile(r"Unsupported (?:parameter|value): '(\w+)'", re.IGNORECASE)
_TOO_SHORT = "output limit was reached"  # of a reply that ends amid the thoughts, which some models refuse to be cut


@dataclass
class Parameters:
    """How the models of one server are asked; shared by threads."""

    _changes: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)  # by model: a name, or "" for none
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def of(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """`body` as its model takes it."""
        changes = self._changes.get(str(body.get("model")), {})
        named = {changes.get(name, name): value for name, value in body.items()}
        return {name: value for name, value in named.items() if name}

    def learn(self, sent: Mapping[str, Any], refusal: bytes) -> bool:
        """Whether the refusal of `sent` names a parameter without which, or by whose other name, it can be asked."""
        name = _refused(refusal)
        if name not in sent or not (name in _RENAMED or name in _LEFT_OUT):
            return False
        model = str(sent.get("model"))
        with self._lock:
            changes = self._changes.setdefault(model, {})
            known = name in changes
            self._changes[model] = {**changes, name: _RENAMED.get(name, "")}
        if name in _DRAWN and not known:
            log.warning(
                "%s takes no %s: it draws its answers as it likes, and others when it is asked again", model, name
            )
        return True


def cut_short(detail: str) -> bool:
    """Whether a refusal says that a reply was to be longer than it could be."""
    return _TOO_SHORT in detail


def until(text: str, stops: Sequence[str]) -> str:
    """`text` up to the first of `stops`, for servers that take no such parameter, or pay it no heed."""
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(ends)] if ends else text


def _refused(refusal: bytes) -> str:
    """The parameter that a refusal is about; "" where it is about none."""
    try:
        error = json.loads(refusal)["error"]
        said, name, code = str(error["message"]), error.get("param"), error.get("code")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    found = _SAID.search(said)
    return str(name) if name and code in _CODES else found[1] if found else ""
