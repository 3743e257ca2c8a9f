"""What Dagster's daemon does with a sensor."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from agro_data.defs.place import Place
from agro_train.definitions import defs


class Daemon:
    """Ticks of a sensor that looks after the corpora in `folder`/out, one after the other."""

    def __init__(self, sensor: dg.SensorDefinition, folder: Path, instance: dg.DagsterInstance) -> None:
        self.sensor, self.instance = sensor, instance
        self.place = Place(datasets=str(folder / "out"), cache_folder=str(folder / "cache"), workers=1)
        self.cursor: str | None = None
        self.said = ""

    def tick(self) -> list[dg.RunRequest]:
        """What it asks for; `said` is why nothing."""
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, resources={"place": self.place}, definitions=defs
        )
        done = self.sensor(context)
        assert isinstance(done, dg.SensorResult)
        self.cursor, self.said = done.cursor, str(done.skip_reason)
        return list(done.run_requests or [])

    def requests(self, ticks: int = 2) -> list[dg.RunRequest]:
        return [request for _ in range(ticks) for request in self.tick()]
