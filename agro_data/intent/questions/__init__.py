"""Questions in English, rendered from intents."""

from agro_data.intent.questions.render import Question, render_question
from agro_data.intent.questions.styles import STYLES

__all__ = ["STYLES", "Question", "render_question"]
