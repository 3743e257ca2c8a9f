"""Whether training moved a model: its tensors before and after, on disk and one at a time where they can be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agro_data.config import ConfigError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Moved:
    """`changed` of `tensors` differ. `largest` is the greatest change of a single weight."""

    tensors: int
    changed: int
    largest: float

    @property
    def any(self) -> bool:
        return self.changed > 0

    def facts(self) -> dict[str, Any]:
        """For a manifest."""
        return {"moved": self.any, "share": self.changed / self.tensors, **asdict(self)}


def parameters_moved(before: Path, after: Path) -> Moved:
    """Compare the weights of two folders. Raises `ValueError` when they share no tensor, and `ConfigError` where
    training has left something else than numbers."""
    old, new = _Files(before), _Files(after)
    if set(old).isdisjoint(new):  # as GPT-2's files, which lack the prefix that it is saved with
        return _compared(_loaded(before), _loaded(after), f"{before} and {after}")
    return _compared(old, new, f"{before} and {after}")


def _compared(old: Mapping[str, Tensor], new: Mapping[str, Tensor], folders: str) -> Moved:
    import torch  # noqa: PLC0415

    shared = sorted(set(old) & set(new))
    if not shared:
        raise ValueError(f"{folders} have no tensor of the same name: they are not of one model")
    changed, largest = 0, 0.0
    for name in shared:
        one, other = old[name], new[name]
        one = one.to(other.dtype)  # as training loaded or saved it: rounding alone is no change
        if torch.equal(one, other):
            continue
        difference = (one.float() - other.float()).abs().max().item()
        if not math.isfinite(difference):
            raise ConfigError(f"training left weights that are no numbers, the first in {name}: lower learning_rate")
        changed += 1
        largest = max(largest, difference)
    return Moved(len(shared), changed, largest)


class _Files(Mapping[str, "Tensor"]):
    """The tensors in the safetensors of a folder, read one at a time."""

    def __init__(self, folder: Path) -> None:
        from safetensors import safe_open  # noqa: PLC0415

        self._open = safe_open
        self._file_of: dict[str, Path] = {}
        for path in sorted(folder.glob("*.safetensors")):
            with safe_open(path, "pt") as file:
                self._file_of |= dict.fromkeys(file.keys(), path)

    def __getitem__(self, name: str) -> Tensor:
        with self._open(self._file_of[name], "pt") as file:
            tensor: Tensor = file.get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._file_of)

    def __len__(self) -> int:
        return len(self._file_of)


def _loaded(folder: Path) -> Mapping[str, Tensor]:
    """The parameters as transformers names them once it has loaded the folder, those that are tied once."""
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    return {
        name: weights.detach()
        for name, weights in AutoModelForCausalLM.from_pretrained(folder, dtype="auto").named_parameters()
    }
