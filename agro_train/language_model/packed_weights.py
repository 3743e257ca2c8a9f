"""Weights laid out once as a CPU's matrix product reads them, while a module writes.

A product of the few rows of a step of writing takes half of its time to lay the matrix out: oneDNN's in half precision,
and MKL's in float32, where oneDNN's packed one is used instead. Weights stay as they are from the first token of a turn
to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch.nn import Linear, Module

# Private to PyTorch, whose compiled graphs call them: where a release has others, weights are read as they lie.
PRIVATE = ("_is_mkldnn_bf16_supported", "_is_mkldnn_fp16_supported", "_reorder_linear_weight", "_linear_pointwise")
MOST = 2 << 30  # bytes of copies: a larger model reads its weights as they lie


@contextmanager
def packed(module: Module) -> Iterator[None]:
    """Meanwhile linear layers of `module` multiply by packed copies of their weights, which must not change: the same
    numbers, sooner (in float32 up to the order of sums). Only where they lie on a CPU that computes in their type, by a
    PyTorch that has the private functions for it.
    """
    layers = _layers(module)
    try:
        for layer, kind in layers:
            layer.__dict__["forward"] = _product(layer, kind)
        yield
    finally:
        for layer, _ in layers:
            layer.__dict__.pop("forward", None)


def _layers(module: Module) -> Sequence[tuple[Linear, torch.dtype]]:
    """Layers to pack, with the type in which they compute: autocast's, where it is on."""
    import torch  # noqa: PLC0415

    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not available or not all(hasattr(torch.ops.mkldnn, name) for name in PRIVATE):
        return []  # such a build of PyTorch has none of oneDNN's functions, or other ones
    autocast = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
    computes = {
        torch.float32: True,
        torch.bfloat16: torch.ops.mkldnn._is_mkldnn_bf16_supported(),
        torch.float16: torch.ops.mkldnn._is_mkldnn_fp16_supported(),
    }
    found = [
        (layer, autocast or layer.weight.dtype)
        for layer in module.modules()
        if type(layer) is torch.nn.Linear and "forward" not in layer.__dict__ and layer.weight.device.type == "cpu"
    ]
    found = [(layer, kind) for layer, kind in found if computes.get(kind)]
    return found if sum(layer.weight.numel() * kind.itemsize for layer, kind in found) <= MOST else []


def _product(layer: Linear, kind: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    import torch  # noqa: PLC0415

    weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach().to(kind))
    bias = None if layer.bias is None else layer.bias.detach().to(kind)
    multiply = torch.ops.mkldnn._linear_pointwise.default  # what torch.compile's frozen graphs call

    def forward(entered: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = multiply(entered.to(kind), weight, bias, "none", [], "")
        return found

    return forward
