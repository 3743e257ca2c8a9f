"""How an asset hands on its value: the steps of the same run get the value of that run, all others the last one.

Dagster keeps one value an asset. If two builds run at a time, as when the sensor starts them for two corpora, one would
go on in the work folder of the other, and its own corpus would never be written.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import dagster as dg

from agro_data.files import atomic_path

IF_MADE = {"agro/if_made": True}  # metadata of an input that is "" where nothing was made


class HandingOn(dg.IOManager):
    """Pickles below `folder`: `<asset>` as Dagster's own would, and `<run>/<asset>` beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Store what a step made, for its own run first."""
        if context.has_asset_key:
            self._write(self._of_run(context.run_id, context.asset_key), obj)
            place = self.folder.joinpath(*context.asset_key.path)
        else:
            place = self.folder.joinpath(*context.get_identifier())
        self._write(place, obj)
        context.add_output_metadata({"path": dg.MetadataValue.path(str(place))})

    def load_input(self, context: dg.InputContext) -> Any:
        """The value of the present run, or of the run that it continues; else the last value.

        Raises `dg.Failure` where nothing was, unless the input is one of `IF_MADE`.
        """
        made = context.upstream_output
        if made is not None and not made.has_asset_key:
            return pickle.loads(self.folder.joinpath(*made.get_identifier()).read_bytes())
        runs = [made.run_id] if made is not None else []
        own = [self._of_run(run, context.asset_key) for run in (*runs, context.step_context.run_id)]
        last = self.folder.joinpath(*context.asset_key.path)
        place = next((place for place in (*own, last) if place.is_file()), None)
        if place is not None:
            return pickle.loads(place.read_bytes())
        if context.definition_metadata.keys() >= IF_MADE.keys():
            return ""
        name = context.asset_key.to_user_string()
        raise dg.Failure(
            description=f"Dagster has not made the asset {name} yet: materialize it first", allow_retries=False
        )

    def _of_run(self, run_id: str, key: dg.AssetKey) -> Path:
        return self.folder.joinpath(run_id, *key.path)

    @staticmethod
    def _write(place: Path, obj: Any) -> None:
        with atomic_path(place) as temporary:
            temporary.write_bytes(pickle.dumps(obj))


@dg.io_manager
def handing_on(context: dg.InitResourceContext) -> HandingOn:
    """In the instance's folder, where Dagster's own keeps its values."""
    assert context.instance is not None  # a run has one
    return HandingOn(Path(context.instance.storage_directory()))
