"""`agro publish`: a corpus version on the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from agro_data.config import ConfigError
from agro_data.publish.read import open_corpus
from agro_data.rows import decoded
from agro_data.shown import print_json
from agro_data.terminal.showing import say, show_pairs, tell
from agro_data.terminal.streams import screen
from agro_data.terminal.verb import Resumed
from agro_data.verbs.choosing import whole
from agro_data.verbs.options import A_PATH, as_json

if TYPE_CHECKING:
    from agro_data.publish.publication.publishing import Publication


@click.command(name="publish", cls=Resumed)
@click.argument("version_path", metavar="VERSION", type=A_PATH)
@click.option("--repo-id", required=True, metavar="ORG/NAME", help="The dataset repository; created when not there.")
@click.option("--license", "license_", default="", metavar="LICENSE", help="Licence of the rows, such as cc-by-sa-4.0.")
@click.option(
    "--source-license",
    multiple=True,
    metavar="[DB_ID=]LICENSE",
    help="Licence of a source database, or of all (repeatable; @FILE: one a line).",
)
@click.option(
    "--share", multiple=True, metavar="DB_ID", help="Its instances may be published; 'all' for all (repeatable)."
)
@click.option(
    "--personal-data",
    type=click.Choice(["refuse", "drop", "keep"]),
    default="refuse",
    show_default=True,
    help="What to do where some is found: not publish, leave rows and instances out, or publish.",
)
@click.option("--databases", type=A_PATH, default=None, help="The source databases.  [default: where they were]")
@click.option("--public", is_flag=True, help="A repository that is created is public.  [default: private]")
@click.option("--dry-run", is_flag=True, help="Check, make and show all that would be published; send nothing.")
@as_json
def publish_command(
    version_path: Path,
    repo_id: str,
    license_: str,
    source_license: Sequence[str],
    share: Sequence[str],
    personal_data: Literal["refuse", "drop", "keep"],
    databases: Path | None,
    public: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Publish a version on the Hugging Face Hub: one commit, and a tag with the version's name.

    VERSION is a version's folder, or a corpus for its latest. The token is read from HF_TOKEN and nowhere else. Only a
    version whose checks pass is published; a published one is never changed. The same command again continues one
    that was interrupted.

    \b
    Examples:
      agro publish datasets/shop --repo-id my-org/shop --license cc-by-4.0 --source-license cc-by-4.0 --dry-run
      agro publish datasets/shop/v0001-1a2b3c4d --repo-id my-org/shop --license cc-by-4.0 --source-license @licenses.txt
    """
    from agro_data.publish.publication.publishing import publish_version  # noqa: PLC0415
    from agro_data.publish.publication.release import EVERY, Declaration  # noqa: PLC0415

    declared = Declaration(
        license=license_,
        source_licenses=source_licenses(source_license, EVERY),
        share=frozenset(EVERY if one == "all" else one for one in share),
        personal_data=personal_data,
    )
    version = open_corpus(version_path)
    warnings = declared.warnings(version.db_ids)
    tell(warnings, "yellow")
    with whole(version):
        made = publish_version(version, repo_id, declared, databases=databases, private=not public, dry_run=dry_run)
    tell(made.warnings, "yellow")
    print_json(_figures(made) | {"warnings": [*warnings, *made.warnings]}) if as_json else _show(made, repo_id)


def source_licenses(given: Sequence[str], every: str) -> dict[str, str]:
    """Licences by `db_id` of "DB_ID=LICENSE", "LICENSE" (for `every` database) and "@FILE" of such lines.

    Raises `ConfigError` for a file that cannot be read and for two licences of one database.
    """
    found: dict[str, str] = {}
    for one in _lines(given):
        db_id, _, license_ = one.rpartition("=")
        db_id, license_ = db_id.strip() or every, license_.strip().lower()
        if found.setdefault(db_id, license_) != license_:
            raise ConfigError(f"--source-license: {one!r}, but {found[db_id]} was said before; give one for each")
    return found


def _lines(given: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for one in given:
        if not one.startswith("@"):
            lines.append(one)
            continue
        try:
            text = decoded(Path(one[1:]).read_bytes(), Path(one[1:]))
        except OSError as error:
            raise ConfigError(f"--source-license {one}: cannot be read ({error.strerror})") from error
        stripped = map(str.strip, text.splitlines())
        lines += [line for line in stripped if line and not line.startswith("#")]
    return lines


def _figures(made: Publication) -> dict[str, object]:
    published = made.published
    return {
        "published": published is not None,
        "new": published is not None and published.new,
        "url": published.url if published else "",
        "commit": published.commit if published else "",
        "version": made.manifest["version"],
        "examples": made.manifest["counts"]["examples"],
        "files": len(made.manifest["files"]),
        "bytes": sum(file["bytes"] for file in made.manifest["files"].values()),
        "checks": made.manifest["checks"],
        "personal_data": made.manifest["personal_data"],
    }


def _show(made: Publication, repo_id: str) -> None:
    files = made.manifest["files"]
    size = sum(file["bytes"] for file in files.values())
    if made.published is None:
        screen.print(made.card, soft_wrap=True)
        show_pairs({name: f"{file['bytes']:,} bytes" for name, file in list(files.items())[:20]})
        say(
            f"dry run: {len(files):,} files, {size / 1e6:.1f} MB would become {repo_id}, tag {made.manifest['version']}"
        )
        return
    what = "published" if made.published.new else "was published before, as it is here"
    say(f"{made.published.url}: {what}; {len(files):,} files, {size / 1e6:.1f} MB")
