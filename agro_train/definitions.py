"""The whole code location: the factory's definitions, and training's as they come."""

from __future__ import annotations

import dagster as dg

from agro_data import definitions as factory

defs: dg.Definitions = factory.definitions()
