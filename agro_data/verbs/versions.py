"""`agro versions`: which corpus versions there are, what distinguishes two of them, and which may go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import polars as pl

from agro_data.files import json_lines, write_text
from agro_data.publish.read import NoVersion, Version, latest, list_versions, open_version
from agro_data.publish.retention import published, sweep
from agro_data.shown import print_json, show_version
from agro_data.terminal.running import FAILED_SOME
from agro_data.terminal.showing import say, show_pairs, show_table, tell
from agro_data.terminal.streams import screen
from agro_data.terminal.verb import Verb, Verbs
from agro_data.verbs.choosing import chosen_version, corpora, named_by, whole
from agro_data.verbs.options import A_PATH, as_json
from agro_data.verbs.writing import check_written
from agro_data.words import cut

if TYPE_CHECKING:
    from agro_data.publish.difference import Difference

SHOWN = 60  # characters of a setting
LISTED_SHARES = 6  # values of a distribution that are shown, those that changed most

only_corpus = click.option("--name", default=None, help="Only this corpus.")


class ListedByDefault(Verbs):
    """A group whose verb `list` need not be said: `agro versions datasets` lists."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(name="versions", cls=ListedByDefault)
def versions_command() -> None:
    """List, compare and prune corpus versions.

    \b
    Examples:
      agro versions datasets
      agro versions datasets --show latest
      agro versions diff v0001-1a2b3c4d latest
      agro versions prune datasets --keep 3 --dry-run
    """


@versions_command.command(name="list", cls=Verb)
@click.argument("out", type=A_PATH, default=Path("datasets"))
@only_corpus
@click.option(
    "--show", default=None, metavar="VERSION", help="'latest' or a name: its place, three rows, counts and funnel."
)
@as_json
def list_command(out: Path, name: str | None, show: str | None, as_json: bool) -> None:
    """List the corpus versions under a folder, or those of a corpus whose folder it is; or show one.

    \b
    Examples:
      agro versions list datasets
      agro versions list datasets/shop
      agro versions list datasets --show latest
    """
    out, name = named_by(out, name)
    if show:
        version = chosen_version(show, out, name)
        with whole(version):
            print_json(version.manifest) if as_json else show_version(version)
        return
    listing: list[dict[str, Any]] = []
    problems: list[str] = []
    for corpus in corpora(out, name):
        newest, known = latest(out, corpus), published(out, corpus)
        for path in list_versions(out, corpus):
            try:
                listing.append(_listed(open_version(path), newest, path.name in known))
            except (NoVersion, KeyError, TypeError, AttributeError) as error:
                reason = str(error) if isinstance(error, NoVersion) else f"{path}: manifest.json lacks {error}"
                problems.append(reason)
    print_json(listing) if as_json else show_table(listing)
    tell(problems, "yellow")
    if problems:
        raise SystemExit(FAILED_SOME)


@versions_command.command(name="diff", cls=Verb)
@click.argument("before")
@click.argument("after", default="latest")
@click.option("--out", type=A_PATH, default=Path("datasets"), show_default=True, help="Where versions named are found.")
@only_corpus
@click.option("--rows", type=click.IntRange(0), default=3, show_default=True, help="Rows shown of each kind.")
@click.option("--output", type=A_PATH, default=None, metavar="FILE", help="Every row that differs, as JSONL.")
@as_json
def diff_command(
    before: str, after: str, out: Path, name: str | None, rows: int, output: Path | None, as_json: bool
) -> None:
    """Say how the version AFTER differs from BEFORE: rows, distributions, certificates, settings.

    Each is a folder, a version's name below --out, or 'latest'. A row is the same when database content, SQL and
    question are; 'reworded' has its SQL and another question, 'rewritten' its question and another SQL.

    \b
    Examples:
      agro versions diff v0001-1a2b3c4d
      agro versions diff old/shop/v0001-1a2b3c4d new/shop --output rows.jsonl
    """
    from agro_data.publish.difference import compare, summary  # noqa: PLC0415

    old, new = chosen_version(before, out, name), chosen_version(after, out, name)
    check_written({"--output": output}, [old.path, new.path])
    with whole(old), whole(new):
        found = compare(old, new)
        figures = summary(found)
        differing = _differing(found, old, new)
    if output is not None:
        write_text(output, json_lines(differing.iter_rows(named=True)))
    if as_json:
        print_json({"before": str(old.path), "after": str(new.path), **figures})
    else:
        _show(found, figures, differing, rows, f"{old.corpus} {old.name}", f"{new.corpus} {new.name}")
    tell([f"{output}: written"] if output is not None else [], "dim")


@versions_command.command(name="prune", cls=Verb)
@click.argument("out", type=A_PATH, default=Path("datasets"))
@only_corpus
@click.option("--keep", type=click.IntRange(1), default=3, show_default=True, help="Newest versions that stay.")
@click.option("--dry-run", is_flag=True, help="Say what would go and what that frees; delete nothing.")
@as_json
def prune_command(out: Path, name: str | None, keep: int, dry_run: bool, as_json: bool) -> None:
    """Delete old versions; never the latest, a published one, or one that trajectories were made from.

    Old versions of trajectories go too. A version goes whole: a reader that comes meanwhile sees all of it or nothing.

    \b
    Examples:
      agro versions prune datasets --dry-run
      agro versions prune datasets --name shop --keep 1
    """
    corpora(out, name)  # says what there is, if that is not there
    decided = sweep(out, keep, name or "", dry_run=dry_run)
    freed = sum(fate.size for _, fate in decided if not fate.keeps)
    gone = sum(not fate.keeps for _, fate in decided)
    listing = [
        {
            "corpus": corpus,
            "version": fate.path.name,
            "megabytes": round(fate.size / 1e6, 1),
            "stays": bool(fate.keeps),
            "because": fate.keeps or f"older than the newest {keep}",
        }
        for corpus, fate in decided
    ]
    if as_json:
        print_json({"dry_run": dry_run, "versions": listing, "pruned": gone, "freed_bytes": freed})
        return
    show_table([row | {"stays": "stays" if row["stays"] else "goes" if dry_run else "gone"} for row in listing])
    verb = "would free" if dry_run else "freed"
    say(f"{gone} of {len(decided)} versions; {verb} {freed / 1e6:,.1f} MB")


def _listed(version: Version, newest: Path, is_published: bool) -> dict[str, Any]:
    counts = version.manifest["counts"]
    return {
        "corpus": version.path.parent.name,
        "version": version.path.name,
        "examples": counts["examples"],
        "databases": counts["databases"],
        "megabytes": round(sum(file["bytes"] for file in version.manifest["files"].values()) / 1e6, 1),
        "latest": "yes" if version.path == newest else "",
        "published": "yes" if is_published else "",
    }


def _differing(found: Difference, old: Version, new: Version) -> pl.DataFrame:
    """The rows that are not the same, with question and SQL before and after."""
    texts = ["example_id", "question", "sql"]
    before = old.examples().select(texts).rename({"question": "question_before", "sql": "sql_before"}).collect()
    after = new.examples().select(texts).rename({"question": "question_after", "sql": "sql_after"}).collect()
    return (
        found.rows.filter(pl.col("kind") != "same")
        .join(before, left_on="before", right_on="example_id", how="left", maintain_order="left")
        .join(after, left_on="after", right_on="example_id", how="left", maintain_order="left")
    )


def _show(
    found: Difference, figures: Mapping[str, Any], differing: pl.DataFrame, rows: int, before: str, after: str
) -> None:
    say(f"{before} → {after}", style="bold")
    screen.print()
    show_pairs({kind: f"{count:,} rows" for kind, count in found.counts.items()})
    if found.changed_columns:
        say("changed: " + ", ".join(f"{name} in {count:,}" for name, count in found.changed_columns.items()), rest="  ")
    for kind, names in found.databases.items():
        if names:
            say(f"databases {kind}: {', '.join(names)}", rest="  ")
    for setting, (old, new) in found.settings.items():
        say(f"{setting}: {_short(old)} → {_short(new)}", rest="  ")
    screen.print()
    show_table(
        [{"figure": name, "before": _number(old), "after": _number(new)} for name, (old, new) in found.figures.items()]
    )
    for label, shares in figures["shares"].items():
        moved = [one for one in shares if one["points"]][:LISTED_SHARES]
        if moved:
            screen.print()
            show_table([{label: one["value"]} | {k: one[k] for k in ("before", "after", "points")} for one in moved])
    for kind in differing["kind"].unique(maintain_order=True):
        for row in differing.filter(pl.col("kind") == kind).head(rows).iter_rows(named=True):
            screen.print()
            say(f"{kind}, {row['db_id']}" + (f": {', '.join(row['columns'])}" if row["columns"] else ""), style="dim")
            _show_side("-", row, "before")
            if row["kind"] != "changed":
                _show_side("+", row, "after")


def _show_side(mark: str, row: Mapping[str, Any], side: str) -> None:
    if row[side] is not None:
        say(f"{row[f'question_{side}']}  [{row[side]}]", first=f"{mark} ", rest="    ")
        say(row[f"sql_{side}"], first=f"{mark}   ", rest="    ")


def _short(value: Any) -> str:
    return cut(json.dumps(value, ensure_ascii=False), SHOWN)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
