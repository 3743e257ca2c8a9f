"""Layers that training leaves as they are: no gradient is computed for them, nor for what stands before them.

A step computes each product of a forward pass twice more on its way back, once for what stands before a layer and once
for its weights. Layers that stay as they are cost neither, so with the lower half of them a step takes half of the
time; lower layers are those that fine-tuning needs least (1911.03090).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agro_train.programs.settings import SettingsError

if TYPE_CHECKING:
    from torch.nn import Module


def freeze(module: Module, share: float) -> None:
    """This share of the layers, from the first, and the embeddings (with an output layer that is tied to them) stay as
    they are, with adapters that they have; with 0 nothing does.

    Raises `SettingsError` where the model's layers are not found, or none is left that learns.
    """
    if not share:
        return
    before, layers = _layers(module)
    count = round(share * len(layers))
    if count == len(layers):
        raise SettingsError(
            f"freeze={share:g}: none of the model's {len(layers)} layers would learn; "
            f"expected at most {(len(layers) - 1) / len(layers):.2g}"
        )
    for part in (*before, *layers[:count]):
        part.requires_grad_(False)


def _layers(module: Module) -> tuple[list[Module], list[Module]]:
    """What stands before the layers that the model's configuration counts, and these."""
    from torch.nn import ModuleList  # noqa: PLC0415

    count = module.config.num_hidden_layers  # type: ignore[union-attr]
    for owner in module.modules():
        parts = [*owner.children()]
        for place, part in enumerate(parts):
            if isinstance(part, ModuleList) and len(part) == count:
                return parts[:place], [*part]
    raise SettingsError(f"freeze: {type(module).__name__} has no list of {count} layers; set freeze to 0")
