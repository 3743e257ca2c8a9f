"""Tables whose rows are versions of a thing, as slowly changing dimensions keep them (type 2): who counts their rows
counts no customers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agro_data.profiling.profile import ColumnProfile

_HOLDS = re.compile(
    r"(?:dbt_)?(?:valid|eff(?:ective)?|row|record|scd)_?(?:from|to|until|thru|start|end|begin)(?:_?(?:date|dt|ts|at))?"
)
_CURRENT = re.compile(r"(?:is_?)?(?:current|latest)(?:_?(?:flag|ind|indicator|row|record|version))?")


def keeps_versions(columns: Sequence[ColumnProfile]) -> bool:
    """Whether a row holds from a day or until one, says whether it is the current one (or is of a snapshot by dbt), and
    has an identifier that other rows have, too.
    """
    names = [column.name.lower() for column in columns]
    holds = any(map(_HOLDS.fullmatch, names))
    told = any(map(_CURRENT.fullmatch, names)) or "dbt_valid_from" in names
    shared = any(column.role == "identifier" and column.distinct and not column.unique for column in columns)
    return holds and told and shared
