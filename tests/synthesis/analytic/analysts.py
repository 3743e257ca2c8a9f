"""What analysts write, read and asked."""

from __future__ import annotations

from agro_data.intent.questions import render_question
from agro_data.intent.questions.styles import STYLES
from agro_data.intent.sampling.atlas import Atlas
from agro_data.intent.tree import Intent
from agro_data.synthesis.read_back.reading import read_intent


def read(sql: str, atlas: Atlas) -> Intent:
    intent = read_intent(sql, atlas, seed=1)
    assert isinstance(intent, Intent), intent
    return intent


def questions(intent: Intent, atlas: Atlas) -> list[str]:
    return [render_question(intent, atlas.profile, style, seed).text for style in STYLES for seed in range(4)]
