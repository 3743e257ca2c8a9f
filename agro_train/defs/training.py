"""What all assets of training share: the corpus, the model, where models go, and on how many GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from agro_data.defs.built import built_last
from agro_data.defs.failures import failure
from agro_data.defs.place import Place, project_root
from agro_data.folders import unwritable
from agro_data.models import DEFAULT_WRITER, ModelMissing
from agro_data.publish.read import NoVersion, Version, open_version
from agro_train.defs.configs import CALLED
from agro_train.runs.corpora import find_corpus, find_databases_of
from agro_train.runs.named import check_named
from agro_train.runs.store import NoRun


class Training(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Empty means: the corpus last built, its databases where they were, the project's folder of models."""

    corpus: str = Field(
        default="",
        description="Corpus: its name, name/version, or a path. Empty: the version built last.",
    )
    databases: str = Field(default="", description="Where its databases lie. Empty: where they were when it was built.")
    model: str = Field(default=DEFAULT_WRITER, description="What training starts from: a Hub id or a folder.")
    models: str = Field(default="", description="Folder of trained models. Empty: models/ of the project.")
    processes: int = Field(default=1, description="Training processes, one a GPU; above 1 accelerate starts them.")

    @property
    def models_root(self) -> Path:
        return Path(self.models).expanduser() if self.models else project_root() / "models"

    def check(self) -> None:
        """Raise `dg.Failure` for a number of processes that cannot train."""
        if self.processes < 1:
            raise dg.Failure(
                description=f"processes is {self.processes}: expected at least 1, and no more than there are GPUs",
                allow_retries=False,
            )

    def check_start(self) -> None:
        """Raise `dg.Failure` for what would be found when all trajectories are made: a model that nothing can be meant
        by, and a folder in which no model can be kept."""
        try:
            check_named(self.model, self.models_root)
        except (NoRun, ModelMissing) as error:
            raise failure(f"training: {error}", CALLED) from None
        if (why := unwritable(self.models_root)) is not None:
            raise failure(f"training: models is {self.models_root}: cannot be written ({why.strerror})")

    def corpus_in(self, context: dg.AssetExecutionContext, place: Place) -> Version:
        """The corpus version that is named, else the one built last: what the asset `corpus` made, whose checks Dagster
        waits for, unless one was written since without it. Raises `dg.Failure` with one line that says what to run."""
        newest = self._found(place)
        last = None if self.corpus else built_last(context.instance, place.out)
        if last is None or last.path == newest.path:
            return newest
        made, other = ("/".join(path.parts[-2:]) for path in (last.path, newest.path))
        if newest.path.stat().st_mtime > last.at:
            context.log.warning(f"{other} is taken, written since the asset corpus made {made}")
            return newest
        return Version(last.path)

    def corpus_of(self, facts: Mapping[str, Any], place: Place) -> Version:
        """The version that something was made of, by its manifest's `facts`. Raises `dg.Failure` where it is not."""
        try:
            return open_version(place.out / facts["name"] / facts["version"])
        except NoVersion:  # its folder may have another name than the corpus
            found = self._found(place)
        if found.fingerprint != facts["fingerprint"]:
            raise dg.Failure(
                description=f"{facts['name']} {facts['version']} is not below {place.out}, and what was made of it is "
                f"not trained further on {found.corpus} {found.name}: bring it back, or begin with the trajectories",
                allow_retries=False,
            )
        return found

    def _found(self, place: Place) -> Version:
        try:
            found = find_corpus(place.out, self.corpus)
            _ = found.manifest
        except NoVersion as error:
            raise failure(str(error), CALLED) from None
        return found

    def databases_of(self, corpus: Version) -> Path:
        """The folder of its databases. Raises `dg.Failure` when it is not there."""
        try:
            return find_databases_of(corpus, self.databases)
        except NoVersion as error:
            raise failure(str(error), CALLED) from None
