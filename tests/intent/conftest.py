"""Intents that several modules look at."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest

from agro_data.intent.sampling.sample import sample_intents
from agro_data.intent.tree import Intent

sys.path.insert(0, str(Path(__file__).parent))
from intent import shop


@pytest.fixture(scope="session")
def intents() -> list[Intent]:
    return list(islice(sample_intents(shop.profile(), seed=3), 1_000))
