"""What several tests of agents work with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from train.model_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.server.shutdown()
    one.server.server_close()
