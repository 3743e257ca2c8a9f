"""Where things go and with how many workers: what a machine decides, not a corpus."""

import os
from pathlib import Path

import dagster as dg
from pydantic import Field

from agro_data.config import RunConfig, cache_folder
from agro_data.defs.pools import free_dead
from agro_data.llm.accounting import Prices


def project_root() -> Path:
    """`$AGRO_ROOT`, which env.sh sets, else the current folder."""
    return Path(os.environ.get("AGRO_ROOT", ".")).resolve()


class Place(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Folders and workers of this machine. Empty means: the project's own."""

    datasets: str = Field(default="", description="The folder that holds the corpora. Empty: datasets/.")
    cache_folder: str = Field(default="", description="Empty: $AGRO_CACHE, else .agro-cache beside that folder.")
    workers: int = Field(default=2, description="Processes that sample, verify and run a model's SQL.")
    price_read: float = Field(default=0.0, description="Of a million tokens that a model reads; 0: one's own.")
    price_written: float = Field(default=0.0, description="Of a million that it writes, in the same currency.")

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Every run works in a place: before its first step, what dead runs hold of pools is free."""
        if context.instance is not None:
            free_dead(context.instance)

    @property
    def prices(self) -> Prices:
        """Raises `dg.Failure` for one below zero."""
        if min(self.price_read, self.price_written) < 0:
            raise dg.Failure(
                description=f"price_read is {self.price_read:g}, price_written {self.price_written:g}: none is below 0",
                allow_retries=False,
            )
        return Prices(self.price_read, self.price_written)

    @property
    def run(self) -> RunConfig:
        """How a build runs here. Raises `ConfigError` for a number of workers that cannot work."""
        return RunConfig(out=self.out, cache=self.cache, workers=self.workers)

    @property
    def out(self) -> Path:
        return Path(self.datasets).expanduser() if self.datasets else project_root() / "datasets"

    @property
    def samples(self) -> Path:
        return self.out / "samples"

    @property
    def reports(self) -> Path:
        return self.cache / "reports"

    @property
    def cache(self) -> Path:
        return cache_folder(RunConfig(out=self.out, cache=Path(self.cache_folder) if self.cache_folder else None))
