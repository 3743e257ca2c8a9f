"""TRL's output layer on a CPU: only tokens that are learnt are scored.

TRL 1.16 leaves out the others where it has Triton, and elsewhere scores every position, because some compilers dislike
shapes that change. On a CPU that is most of the time of a step, and gigabytes: a prompt is three quarters of a
transcript, and a vocabulary has 49,152 entries. Losses are the same (tested).
"""

from __future__ import annotations

from typing import Any


def score_only_what_is_learnt() -> None:
    """Make TRL's fused head leave out ignored positions on every device. Can be called again.

    Raises `AttributeError` in a release of TRL that does this otherwise: then look whether this module can go.
    """
    import trl.trainer.utils as trl_utils  # noqa: PLC0415

    if not callable(trl_utils._use_triton):
        raise AttributeError("trl.trainer.utils._use_triton is no function any more")
    trl_utils._use_triton = _always


def _always(device: Any) -> bool:
    return True
