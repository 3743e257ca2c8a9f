"""Whether training moved a model: tensors on disk, before and after, one at a time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


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
    """Compare the safetensors of two folders. Raises `ValueError` when they share no tensor."""
    import torch  # noqa: PLC0415
    from safetensors import safe_open  # noqa: PLC0415

    old, new = _files_of(before), _files_of(after)
    shared = sorted(set(old) & set(new))
    if not shared:
        raise ValueError(f"{before} and {after} have no tensor of the same name: they are not of one model")
    changed, largest = 0, 0.0
    for name in shared:
        with safe_open(old[name], "pt") as left, safe_open(new[name], "pt") as right:
            one, other = left.get_tensor(name), right.get_tensor(name)
        one = one.to(other.dtype)  # as training loaded or saved it: rounding alone is no change
        difference = (one.float() - other.float()).abs().max().item() if one.numel() else 0.0
        changed += not torch.equal(one, other)
        largest = max(largest, difference)
    return Moved(len(shared), changed, largest)


def _files_of(folder: Path) -> dict[str, Path]:
    """File of each tensor."""
    from safetensors import safe_open  # noqa: PLC0415

    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            found |= dict.fromkeys(file.keys(), path)
    return found
