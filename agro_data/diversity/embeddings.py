"""Vectors of examples: the question's meaning joined with the SQL's structure, quantised to int8.

Every decision (near duplicates, selection) is taken on the int8 vectors. A dot product of two of them is a
whole number below 2**24, which float32 holds exactly: no order of summation, thread count or library can
change it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from agro_data.config import DEFAULT_MODEL, STRUCTURAL
from agro_data.diversity.structure import structural_vectors
from agro_data.models import FoundModel, ModelMissing, fastest_precision, find_model

Vectors = NDArray[np.int8]

LENGTH = 384.0  # of a quantised unit vector; components beyond 127 / 384 = 0.33 are cut, which is rare
QUESTION_WEIGHT = 0.5
_BATCH = 64
_CHUNK = 8_192  # rows whose float vectors are in memory at once


@dataclass(frozen=True)
class Embeddings:
    """Vectors of n examples, in the order of the frame they were made from.

    `question` is (n, d) or None where no embedding model is used; `structure` is (n, 256). `weight` is the
    share of the question in the squared length of `joined`.
    """

    structure: Vectors
    question: Vectors | None = None
    weight: float = QUESTION_WEIGHT

    def __len__(self) -> int:
        return len(self.structure)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Embeddings:
        index = np.asarray(rows, dtype=np.int64)
        question = None if self.question is None else self.question[index]
        return Embeddings(self.structure[index], question, self.weight)

    def joined(self) -> Vectors:
        """(n, d + 256): sqrt(weight) * question beside sqrt(1 - weight) * structure, or structure alone."""
        if self.question is None:
            return self.structure
        width = self.question.shape[1]
        joined = np.empty((len(self), width + self.structure.shape[1]), dtype=np.int8)
        for start in range(0, len(self), _CHUNK):
            rows = slice(start, start + _CHUNK)
            joined[rows, :width] = np.rint(np.sqrt(self.weight) * self.question[rows])
            joined[rows, width:] = np.rint(np.sqrt(1.0 - self.weight) * self.structure[rows])
        return joined


@dataclass(frozen=True)
class Encoder:
    """A sentence-transformers model, loaded. `encode` gives float32 unit vectors, one row a text."""

    source: FoundModel
    precision: str
    dimensions: int
    model: Any
    threads: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import torch  # noqa: PLC0415  (heavy)

        own = torch.get_num_threads()  # of the whole process, which may have more to do than this
        torch.set_num_threads(min(self.threads, own))
        try:
            vectors: NDArray[np.float32] = self.model.encode(
                list(texts),
                batch_size=_BATCH,
                convert_to_numpy=True,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        finally:
            torch.set_num_threads(own)
        return vectors.astype(np.float32, copy=False)


def embedding_installed() -> bool:
    """Whether the extra `embed` (sentence-transformers) is installed; else embeddings are structural."""
    return find_spec("sentence_transformers") is not None


@cache
def encoder_named(model: str) -> Encoder | None:
    """The encoder of a build's `embedding_model`, loaded once a process; None where that is `structural`."""
    return None if model == STRUCTURAL else load_encoder(model)


def load_encoder(name: str = DEFAULT_MODEL, *, threads: int = 2, network: bool = True) -> Encoder:
    """Load the model `name` (a path or a Hub id, see `models.find_model`), to encode on the CPU.

    It computes in bfloat16 where the processor does so (three times faster there) and in float32 elsewhere, and in at
    most `threads` threads. Raises `ModelMissing` when the model or sentence-transformers is missing.
    """
    if not embedding_installed():
        raise ModelMissing(
            "question embeddings need sentence-transformers: install the extra 'embed', or build with"
            " structural embeddings only"
        )
    source = find_model(name, network=network)
    # Read once, when torch loads: threads that spin while they wait lose four fifths of the rate on a busy
    # machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch  # noqa: PLC0415  (heavy)
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from transformers.utils import logging as transformers_logging  # noqa: PLC0415

    # Loading takes a tenth of a second, and the build has bars of its own.
    transformers_logging.disable_progress_bar()
    precision = fastest_precision("cpu")
    model = SentenceTransformer(
        str(source.path),
        device="cpu",
        local_files_only=True,
        model_kwargs={"dtype": torch.bfloat16 if precision == "bfloat16" else torch.float32},
    )
    dimensions = model.get_embedding_dimension()
    return Encoder(source, precision, int(dimensions or 0), model, threads)


def embed(frame: pl.DataFrame, encoder: Encoder | None, *, weight: float = QUESTION_WEIGHT) -> Embeddings:
    """Embeddings of the rows of `frame` in their order; `encoder` None gives structural ones.

    Give whole shards: texts are encoded once each, in batches formed from the shard's sorted texts, so that
    a shard done again gives the same vectors.
    """
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"weight of the question is {weight}: expected a share between 0 and 1")
    shards = [frame[start : start + _CHUNK] for start in range(0, max(1, frame.height), _CHUNK)]
    structure = np.concatenate([quantise(structural_vectors(shard)) for shard in shards])
    if encoder is None:
        return Embeddings(structure)
    return Embeddings(structure, question_vectors(frame["question"].to_list(), encoder), weight)


def question_vectors(questions: Sequence[str], encoder: Encoder) -> Vectors:
    """Quantised vectors (n, d) of `questions`, in their order."""
    # Texts of one length in one batch waste nothing on padding.
    texts = sorted(set(questions), key=lambda text: (len(text), text))
    vectors = np.zeros((len(texts), encoder.dimensions), dtype=np.int8)
    for start in range(0, len(texts), _CHUNK):
        vectors[start : start + _CHUNK] = quantise(encoder.encode(texts[start : start + _CHUNK]))
    place = {text: row for row, text in enumerate(texts)}
    return vectors[[place[question] for question in questions]]


def quantise(vectors: NDArray[np.float32]) -> Vectors:
    """Unit vectors as int8 of length `LENGTH`, cut at 127."""
    whole: Vectors = np.clip(np.rint(vectors * np.float32(LENGTH)), -127, 127).astype(np.int8)
    return whole
