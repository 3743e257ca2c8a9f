"""What certificates are made with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agro_data.databases.hostile.sandbox import Sandbox
from agro_data.verify.certificates.pool import LIMITS


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1, limits=LIMITS) as made:
        yield made
