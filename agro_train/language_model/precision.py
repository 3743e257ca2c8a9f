"""In which numbers a model is trained on this machine.

Imports torch when called, never when imported.
"""

from __future__ import annotations

from typing import Literal

from agro_data.models import fastest_precision

Precision = Literal["auto", "mixed", "bfloat16", "float32"]


def settled(precision: str) -> str:
    """`precision`, or what `auto` is here: `mixed` where the GPU or the processor computes in bfloat16, else `float32`.

    One that does not (AVX2) takes more than ten times as long in bfloat16 as in float32 (bench/RESULTS.md).
    """
    if precision != "auto":
        return precision
    import torch  # noqa: PLC0415

    return "mixed" if fastest_precision("cuda" if torch.cuda.is_available() else "cpu") == "bfloat16" else "float32"
