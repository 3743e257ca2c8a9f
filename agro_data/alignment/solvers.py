"""Who answers the question without having seen the SQL: any agent, any model.

A solver is given examples, and gives several queries for each; "" stands for an attempt that came to nothing, which
counts among those asked. Each cycle asks for attempts of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agro_data.alignment.example import Example

Attempts = Callable[[Sequence[Example], int], Sequence[Sequence[str]]]  # (examples, cycle) -> queries of each, in order


@dataclass(frozen=True)
class Solver:
    """`facts` are what a manifest says of it: model, weights, the corpus that it was trained on."""

    name: str
    attempts: Attempts
    facts: Mapping[str, Any] = field(default_factory=dict)
