"""PyTorch's attention without the needless costs of its common way, in writing and in training.

Writing has one new token in each row, and several heads read the same keys (grouped-query attention, 2305.13245).
PyTorch wants as many key heads as query heads, so transformers copies keys and values at each step; on a CPU that takes
longer than all the rest of writing. Here the heads of a group become several queries of one head. In training rows lie
end to end, and each attends within its `Spans`.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from agro_train.language_model.reach import sees
from agro_train.language_model.shared_prefix import beginnings_of
from agro_train.language_model.spans import Spans

if TYPE_CHECKING:
    import torch

FOLDED = "folded_sdpa"


def fold_heads(module: Any) -> None:
    """Let a model of transformers that attends by PyTorch's own attention do so; any other stays as it is."""
    from transformers import AttentionInterface, AttentionMaskInterface  # noqa: PLC0415
    from transformers.masking_utils import sdpa_mask  # noqa: PLC0415

    if module.config._attn_implementation == "sdpa":
        AttentionInterface.register(FOLDED, folded_attention)
        AttentionMaskInterface.register(FOLDED, sdpa_mask)
        module.set_attn_implementation(FOLDED)


def switch_off_cudnn_attention() -> None:
    """For the whole process and for good; PyTorch's other kernels stay.

    cuDNN's is planned anew for each shape, 2 ms a call, and no two batches have the same length.
    """
    import torch  # noqa: PLC0415

    torch.backends.cuda.enable_cudnn_sdp(False)


def attends_behind(module: Any) -> bool:
    """Whether all layers of a model attend by `folded_attention` over all that they have read, and so behind what rows
    have in common (`beginnings`)."""
    config = getattr(module, "config", None)
    if config is None or config._attn_implementation != FOLDED:
        return False
    kinds = getattr(config.get_text_config(), "layer_types", None) or ["full_attention"]
    return {*kinds} == {"full_attention"} and sees(config) == inf  # Mistral's window has no kind of its own


def folded_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **settings: Any,
) -> tuple[torch.Tensor, None]:
    """`query` (rows, heads, 1, size) over `key` and `value` (rows, key heads, places, size); `attention_mask` true or 0
    where a place is seen, and before them over the `beginnings` of the rows. If the mask comes from `Spans`, all
    queries of the one row (1, heads, tokens, size) attend within them. Other longer queries, and those in training, go
    the usual way.

    Returns (rows, queries, heads, size), as transformers wants it.
    """
    from torch.nn.functional import scaled_dot_product_attention  # noqa: PLC0415
    from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: PLC0415

    rows, heads, length, size = query.shape
    spans = Spans.of(attention_mask)
    if spans is not None and settings.get("position_bias") is None:
        within = spans.attended(query, key, value, settings.get("scaling"), settings.get("dropout", 0.0))
        return within.transpose(1, 2).contiguous(), None
    begun = beginnings_of(module) if settings.get("position_bias") is None else None
    if begun is not None:
        layer, beginnings = begun
        folded = query.view(rows, key.shape[1], -1, size)
        seen = beginnings.attended(layer, folded, key, value, attention_mask, settings.get("scaling"))
        return seen.reshape(rows, 1, heads, value.shape[-1]), None
    if length != 1 or heads == key.shape[1] or module.training or settings.get("position_bias") is not None:
        usual: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **settings)
        return usual
    folded = query.view(rows, key.shape[1], -1, size)
    out = scaled_dot_product_attention(folded, key, value, attn_mask=attention_mask, scale=settings.get("scaling"))
    return out.reshape(rows, 1, heads, value.shape[-1]), None  # some kernels give heads the inner place, not the outer
