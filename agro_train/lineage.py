"""What a model was made of, for its manifest: corpus, databases, machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from typing import Any

from agro_data.publish.read import Version
from agro_data.publish.version import library_versions
from agro_train.questions import Questions
from agro_train.runs import ModelRun

LIBRARIES = ("transformers", "trl", "peft", "accelerate", "vllm")


def corpus_facts(corpus: Version | None) -> dict[str, str] | None:
    """Which corpus version."""
    if corpus is None:
        return None
    return {"name": corpus.corpus, "version": corpus.name, "fingerprint": corpus.fingerprint}


def databases_of(sources: Sequence[Questions], parent: ModelRun | None) -> list[dict[str, str]]:
    """Every database that the model has seen: those asked about in `sources`, and those of its parent."""
    seen = {
        (name, source.sources[name].database.content_hash)
        for source in sources
        for name in {row["db_id"] for row in source.rows}
    }
    if parent is not None:
        seen |= {(fact["db_id"], fact["content_hash"]) for fact in parent.manifest["databases"]}
    return [{"db_id": name, "content_hash": digest} for name, digest in sorted(seen)]


def surroundings() -> dict[str, Any]:
    """Machine and libraries that a model was trained with."""
    import torch  # noqa: PLC0415

    cards = [torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())]
    return {
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count(), "gpus": cards},
        "library_versions": library_versions(also=LIBRARIES),
    }
