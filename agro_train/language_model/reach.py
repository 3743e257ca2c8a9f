"""How far a model looks, as its configuration says: how much it reads, how far back its layers see, and by what."""

from __future__ import annotations

import math
from typing import Any


def reads(config: Any) -> float:
    """How many tokens a model with this configuration was made to read, prompt and turns together; infinite where
    nothing says."""
    text = config.get_text_config()
    names = ("max_position_embeddings", "max_seq_len")  # the second is MPT's
    return next((most for name in names if (most := getattr(text, name, None))), math.inf)


def sees(config: Any) -> float:
    """How many tokens every layer of a model with this configuration looks back on; infinite where it sees all."""
    text = config.get_text_config()
    if set(getattr(text, "layer_types", None) or ()) == {"full_attention"}:
        return math.inf
    names = ["sliding_window", "attention_chunk_size"]
    if "local" in (getattr(text, "attention_layers", None) or ()):  # GPT-Neo's
        names.append("window_size")
    windows = (getattr(text, name, None) for name in names)
    return min((window for window in windows if window), default=math.inf)


def by_distance(config: Any) -> bool:
    """Whether layers see how far off a token stands (ALiBi, 2108.12409), whatever its position is said to be."""
    text = config.get_text_config()
    own = getattr(text, "attn_config", None)  # MPT's, where ALiBi is not said beside the rest
    return bool(getattr(text, "alibi", False) or getattr(own, "alibi", False))
