"""Attempts at questions as a step of GRPO learns from them: each prompt is read once, and so are attempts that are the
same; what teaches nothing is not read at all.

A group's attempts have one prompt, which is the greater part of each, and TRL reads it with every one; a model that is
sure of an answer gives it several times. A group whose rewards are all the same has advantages of zero, and TRL takes
its gradient, which is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from agro_train.language_model.shared_prompts import collate, group, lay_row
from agro_train.language_model.tokens import Example

if TYPE_CHECKING:
    import torch


def log_probs(
    model: Any, prompts: tuple[torch.Tensor, torch.Tensor], completions: tuple[torch.Tensor, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Log-probabilities and entropies (attempts, places) of `completions`, 0 on padding, by a model with TRL's head;
    no entropies where the head gives none.

    `prompts` and `completions` are ids and masks (attempts, places); attempts at one prompt share a row, and
    those that are the same a place in it. The model must attend as `fold_heads` has it.
    """
    import torch  # noqa: PLC0415

    ids, mask = completions
    attempts = [*zip(map(_kept, *prompts), map(_kept, ids, mask), strict=True)]
    distinct = [*dict.fromkeys(attempts)]
    own = mask[[attempts.index(attempt) for attempt in distinct]].bool()
    examples = [
        Example([*prompt, *answer], [0] * len(prompt) + [1] * len(answer), ",".join(map(str, prompt)))
        for prompt, answer in distinct
    ]
    rows = group(examples, len(examples), seed=0)
    inputs = {
        name: tensor.to(ids.device)
        for name, tensor in collate([lay_row([examples[place] for place in row]) for row in rows]).items()
    }
    scored = inputs["labels"][:, 1:] >= 0
    out = model(**inputs, fused_lm_head=True)
    order = torch.tensor([*chain.from_iterable(rows)], device=ids.device)
    which = torch.tensor([distinct.index(attempt) for attempt in attempts], device=ids.device)

    def by_attempt(values: torch.Tensor) -> torch.Tensor:
        laid = values.new_zeros(own.shape).masked_scatter(own[order], values[scored])
        return torch.zeros_like(laid).index_copy(0, order, laid)[which]

    return by_attempt(out.log_probs), None if out.entropy is None else by_attempt(out.entropy)


def useful(inputs: Mapping[str, Any]) -> torch.Tensor:
    """Whether each attempt has an advantage that is not zero; (attempts,)."""
    found: torch.Tensor = inputs["advantages"].any(dim=1)
    return found


def without_idle(inputs: Mapping[str, Any], least: int = 1) -> dict[str, Any]:
    """`inputs` of a loss without the attempts whose advantages are all zero, but for the first of them where fewer than
    `least` are left."""
    wanted = useful(inputs)
    rows = wanted.int().argsort(descending=True, stable=True)[: max(least, int(wanted.sum()))].sort().values
    if len(rows) == len(wanted):
        return dict(inputs)
    return {
        name: value[rows] if getattr(value, "ndim", 0) and len(value) == len(wanted) else value
        for name, value in inputs.items()
    }


def _kept(ids: torch.Tensor, mask: torch.Tensor) -> tuple[int, ...]:
    return tuple(ids[mask.bool()].tolist())
