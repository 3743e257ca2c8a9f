"""The choices of settings that several programs share, and their defaults. Loads nothing, so that --help is quick."""

from __future__ import annotations

from typing import Literal

Kind = Literal["greedy", "vote", "adaptive", "tree"]  # of decoding
Engine = Literal["transformers", "vllm"]  # that writes
SAMPLES = 8  # votes
TEMPERATURE = 0.7  # that they are drawn at
TURN_TOKENS = 256
ROLLOUT_TOKENS = 768  # after the prompt
BATCH = 64  # turns that are written together
# How a model reads. In 250 tokens of SmolLM2's tokenizer a compact schema keeps all gold columns of 99.7 % of the
# questions of Spider's training part (bench/RESULTS.md).
PROMPT_BUDGET = 250
COMPACT: Literal["compact"] = "compact"  # how a schema is written, unless told otherwise
UNTRAINED_BUDGET = 2_000  # of a model that was not trained here: it is not used to short schemas, and mostly larger
