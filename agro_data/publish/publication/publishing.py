"""Publishing a version: checked, made into a release, put on the Hub, written down here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agro_data.databases.scratch import ScratchFolder
from agro_data.publish.publication.checks import check_version, sources_of
from agro_data.publish.publication.hub import Published, check_repo_id, publish_folder, token_of
from agro_data.publish.publication.private import PrivateColumn
from agro_data.publish.publication.release import Declaration, make_release
from agro_data.publish.read import Version
from agro_data.publish.retention import record_published


@dataclass(frozen=True)
class Publication:
    """`manifest` is the one that is published; `published` is None when nothing was sent (a dry run)."""

    manifest: dict[str, Any]
    card: str
    published: Published | None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to do about each column that is private of people."""
        return tuple(PrivateColumn(**one).says for one in self.manifest["personal_data"]["columns"])


def publish_version(
    version: Version,
    repo_id: str,
    declared: Declaration,
    *,
    databases: Path | None = None,
    private: bool = True,
    dry_run: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Publication:
    """Publish `version` as the dataset repository `repo_id` of the Hub, under a tag with the version's name.

    `databases` is where its sources are; None: where the build found them. A dry run does all but send: it needs no
    token. Raises `ConfigError` for what was not declared or did not pass, `hub.NotPublished` for all that the Hub
    said; the same call again continues where it was.
    """
    check_repo_id(repo_id)
    declared.licenses_of(version.db_ids)
    token = "" if dry_run else token_of(environment)
    folder = (databases or Path(str(version.manifest["config"].get("databases", "")))).expanduser()
    sources = sources_of(version, folder)
    with ScratchFolder("publish") as place:
        manifest = make_release(version, Path(place), declared, check_version(version, sources), sources)
        card = (Path(place) / "README.md").read_text(encoding="utf-8")
        if dry_run:
            return Publication(manifest, card, None)
        published = publish_folder(
            Path(place),
            repo_id,
            version.name,
            token=token,
            message=f"{version.corpus} {version.name}: {manifest['counts']['examples']:,} examples",
            private=private,
            endpoint=environment.get("HF_ENDPOINT"),
        )
    record_published(version.path)
    return Publication(manifest, card, published)
