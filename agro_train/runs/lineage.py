"""A model's lineage, for its manifest: the model before, corpus, databases, prompt format, machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agro_data.hashing import stable_hash
from agro_data.models import ModelMissing
from agro_data.profiling.serialising.serialise import Style, serialiser
from agro_data.protocol import VERSION as PROTOCOL
from agro_data.publish.read import Version
from agro_data.publish.version import RECORDED
from agro_data.software import library_versions
from agro_train.language_model.loading import framing_of, hash_as_read, load_tokenizer, model_hash
from agro_train.language_model.moved import parameters_moved
from agro_train.programs.settings import settings_to
from agro_train.questions import Questions
from agro_train.runs.named import Address, find_named
from agro_train.runs.store import Fact, ModelRun

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LIBRARIES = ("transformers", "trl", "peft", "accelerate", "vllm")


def start_of(model: str, models: Path, cache: Path) -> tuple[ModelRun | None, Path]:
    """What training starts from: the run that `model` names, if it is one of ours, and the folder of its weights.

    Raises `ModelMissing` when it is neither a run nor a model that can be found, or is not stored as safetensors, or is
    a server's, and `NoRun` for a run that is not there.
    """
    named = find_named(model, models, cache)
    if isinstance(named, Address):
        raise ModelMissing(
            f"{model}: a server keeps its model's weights, which training changes; start from a run, a folder or a Hub "
            "id"
        )
    if isinstance(named, ModelRun):
        return named, named.model
    if not any(named.path.glob("*.safetensors")):  # what training changed is read from these
        raise ModelMissing(f"{named.path} holds no *.safetensors: save the model as such first")
    return None, named.path


def start_hash(start: tuple[ModelRun | None, Path]) -> str:
    """What training starts from, however it was named: the model as it is read, and the run it is of, since what that
    has learnt about decides what is asked first."""
    parent, base = start
    return stable_hash([hash_as_read(base), parent and parent.manifest["fingerprint"]])


def manifest_of(
    kind: str,
    config: DataclassInstance,
    *,
    model: str,
    start: tuple[ModelRun | None, Path],
    trained: Path,
    corpus: Version | None,
    databases: Iterable[Fact],
    clarify: bool,
    prompt_format: tuple[Style, int],
    seed: int,
) -> dict[str, Any]:
    """The fields that the manifest of every run has. `trained` is the folder of the new weights.

    `prompt_format` is style and budget of schemas. `databases` are the ones that it learnt about, beside its parent's.
    """
    parent, base = start
    style, budget = prompt_format
    return {
        "kind": kind,
        "base_model": parent.base_model if parent else model,
        "base_sha256": parent.manifest["base_sha256"] if parent else model_hash(base),
        "parent": parent.name if parent else None,
        "model_sha256": model_hash(trained),
        "corpus": corpus and {"name": corpus.corpus, "version": corpus.name, "fingerprint": corpus.fingerprint},
        "databases": _known([*databases, *(parent.databases if parent else [])]),
        "serialiser": {**serialiser(style), "budget": budget},
        "protocol": PROTOCOL,
        "clarify": clarify,  # prompts say that it may ask back
        "framing": framing_of(load_tokenizer(base)),
        "seed": seed,
        "config": settings_to(config),
        "parameters_moved": parameters_moved(base, trained).facts(),
        **_surroundings(),
    }


def facts_of(sources: Iterable[Questions], only: Iterable[str] | None = None) -> list[Fact]:
    """The databases that are asked about, or only those with the ids `only`."""
    asked = sources if only is None else [source.about(only) for source in sources]
    return _known(
        {"db_id": name, "content_hash": digest} for source in asked for name, digest in source.contents().items()
    )


def _known(databases: Iterable[Fact]) -> list[Fact]:
    """Each once, in order."""
    found = {(fact["db_id"], fact["content_hash"]) for fact in databases}
    return [{"db_id": name, "content_hash": digest} for name, digest in sorted(found)]


def _surroundings() -> dict[str, Any]:
    """Machine and libraries that a model was trained with."""
    import torch  # noqa: PLC0415

    cards = [torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())]
    return {
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count(), "gpus": cards},
        "library_versions": library_versions((*RECORDED, *LIBRARIES)),
    }
