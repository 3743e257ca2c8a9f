"""Questions that a model words: all of them, or only those for SQL without an intent.

Each is said by the grammar first, where there is an intent: what the model must keep is known from that, and it is what
stays where none of the model's questions will do. What was dropped is listed, each reply with its class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import polars as pl

from agro_data.config import Wording
from agro_data.diversity.styles import assign_styles
from agro_data.focus import NO_FOCUS, Focus
from agro_data.hashing import seed_of
from agro_data.intent.questions import STYLES
from agro_data.llm.client import Client
from agro_data.llm.types import Sampling
from agro_data.phrasing.faults import meaning_of
from agro_data.phrasing.writing import Dropped, Embed, phrase
from agro_data.profiling.profile import DatabaseProfile
from agro_data.profiling.serialising.serialise import fit_schema
from agro_data.progress import Reporter
from agro_data.prompts.write_question import MANNERS, QUESTION_STYLES, QuestionWanted, WrittenQuestion
from agro_data.protocol import ENGINES
from agro_data.records import QUESTION, REJECTED, rows
from agro_data.stages.shard.questions import in_style, not_said, refused
from agro_data.synthesis.writing import BUDGET

WRITTEN = "written"  # by a model that saw the SQL: not even a claim
SHOWN = 1_000  # characters of a reply that are kept
SAMPLING = Sampling(temperature=0.8, max_tokens=400)

Row = dict[str, Any]


@dataclass(frozen=True)
class Writer:
    """A model, how often it is asked, and by what the central one of its questions is found; and which styles more."""

    client: Client
    wording: Wording
    samples: int
    embed: Embed
    focus: Focus = NO_FOCUS

    def styled(self, verified: pl.DataFrame, seed: int) -> pl.DataFrame:
        """`verified` with the style that each row is asked in."""
        styles = STYLES if self.wording == "grammar" else QUESTION_STYLES
        shares = self.focus.arm("style", styles)
        weights = [self.focus.weight("styles", style) * share for style, share in zip(styles, shares, strict=True)]
        return assign_styles(verified, styles, seed, weights)

    def requests(self, verified: pl.DataFrame, seed: int) -> dict[str, int]:
        """How often the model is asked for each style."""
        asked = self.styled(verified, seed)
        if self.wording == "grammar":
            asked = asked.filter(pl.col("intent") == "")
        return {style: rows * self.samples for style, rows in asked.group_by("style").len().iter_rows()}


def phrased(
    verified: pl.DataFrame, profile: DatabaseProfile, seed: int, writer: Writer, progress: Reporter
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """QUESTION rows of one shard, one style each, and what was dropped: replies, and rows that nobody could say."""
    said: list[Row] = []
    lost: list[Row] = []
    open_: list[Row] = []
    for record in writer.styled(verified, seed).to_dicts():
        if not record["intent"]:
            open_.append(record | {"question": "", "evidence": None, "wanted_style": record["style"]})
            continue
        own = seed_of(seed, record["candidate_id"])
        plain = record["style"] if record["style"] in STYLES else STYLES[own % len(STYLES)]
        try:
            row = record | in_style(record, profile, plain, own)
        except Exception as error:  # a renderer's fault costs one question, and is listed
            lost.append(not_said(record, error))
            continue
        if writer.wording == "grammar":
            said.append(row)
        else:
            open_.append(row | {"wanted_style": record["style"]})
    found = phrase(
        [_wanted(row, profile, writer.wording, seed) for row in open_],
        [meaning_of(row["sql"], profile, row["question"], row["wanted_style"]) for row in open_],
        writer.client,
        replace(SAMPLING, seed=seed % 2**31),
        writer.samples,
        writer.embed,
        progress,
    )
    for row, one in zip(open_, found, strict=True):
        style = row.pop("wanted_style")
        lost += [_dropped(row, reply) for reply in one.dropped]
        if one.kept is not None:
            said.append(row | _columns(one.kept, style))
        elif row["question"]:
            said.append(row)
    return rows(said, QUESTION), rows(lost, REJECTED)


def _wanted(row: Row, profile: DatabaseProfile, wording: Wording, seed: int) -> QuestionWanted:
    """What the model is asked for: the SQL, its tables, its steps in words, and the plain question or not."""
    draw = Random(seed_of(seed, "manner", row["candidate_id"]))
    return QuestionWanted(
        schema=fit_schema(profile, budget=BUDGET, tables=row["tables"]).text,
        sql=row["sql"],
        meaning="\n".join(step["intent"] for step in row["steps"]),
        style=row["wanted_style"],
        question=row["question"] if wording == "paraphrase" else "",
        evidence=row["evidence"] or "",
        dialect=ENGINES[profile.dialect],
        manner=draw.choice(("", *MANNERS)),
    )


def _columns(written: WrittenQuestion, style: str) -> Row:
    return {
        "question": written.question,
        "style": style,
        "evidence": written.evidence,
        "alignment_method": WRITTEN,
        "alignment_score": 0.0,
    }


def _dropped(row: Row, reply: Dropped) -> Row:
    found = refused(row, f"unwritten_{reply.why.kind}", reply.why.detail)
    shown = " ".join(reply.reply[:SHOWN].split()).encode("utf-8", "replace").decode()  # half of a character is "?"
    return found | {"question": shown or None}
