"""Structural embedding of SQL: what it does, as a hashed feature vector. Needs no model.

Feature hashing with signs (Weinberger et al., 0902.2206): every token adds +1 or -1 at an index, both from
BLAKE2 of the token, so that the vector of a statement is the same on every machine and in every process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from agro_data.diversity.normal_forms import tokens

DIMENSIONS = 256
# Shares of the squared length: what kind of query it is, how it is written, and what it speaks of.
CONSTRUCTS, TEMPLATE, SCHEMA = 0.35, 0.35, 0.30
LONGEST_GRAM = 3


def structural_vectors(frame: pl.DataFrame) -> NDArray[np.float32]:
    """Unit vectors (rows, DIMENSIONS) from the columns constructs, template, tables, columns and db_id."""
    constructs = _summed(frame["constructs"].to_list(), "construct")
    templates = frame["template"].fill_null("").to_list()
    place = {text: row for row, text in enumerate(dict.fromkeys(templates))}
    template = _summed([_grams(text) for text in place], "gram")[[place[text] for text in templates]]
    databases = frame["db_id"].to_list()
    tables, columns = frame["tables"].to_list(), frame["columns"].to_list()
    names = [
        [f"{db_id}.{name}" for name in chain(used, read)]
        for db_id, used, read in zip(databases, tables, columns, strict=True)
    ]
    schema = _summed(names, "name")
    joined = (
        np.sqrt(CONSTRUCTS) * _unit(constructs) + np.sqrt(TEMPLATE) * _unit(template) + np.sqrt(SCHEMA) * _unit(schema)
    )
    return _unit(joined).astype(np.float32)


def text_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors (texts, DIMENSIONS) from the words of each text and their neighbours."""
    return _unit(_summed([_grams(text) for text in texts], "gram")).astype(np.float32)


def _grams(template: str) -> list[str]:
    words = [text.lower() for _, text in tokens(template)]
    return [
        " ".join(words[start : start + length])
        for length in range(1, LONGEST_GRAM + 1)
        for start in range(len(words) - length + 1)
    ]


def _summed(bags: Sequence[Sequence[str] | None], kind: str) -> NDArray[np.float64]:
    """Sum of the tokens' signed unit vectors for each bag; counts enter by their logarithm."""
    matrix = np.zeros((len(bags), DIMENSIONS))
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, bag in enumerate(bags):
        counts: dict[str, int] = {}
        for token in bag or ():
            counts[token] = counts.get(token, 0) + 1
        for token, count in counts.items():
            index, sign = _place(kind, token)
            rows.append(row)
            columns.append(index)
            values.append(sign * (1.0 + np.log(count)))
    np.add.at(matrix, (rows, columns), values)
    return matrix


@lru_cache(maxsize=200_000)
def _place(kind: str, token: str) -> tuple[int, float]:
    digest = int.from_bytes(hashlib.blake2b(f"{kind}\x1f{token}".encode(), digest_size=8).digest(), "big")
    return (digest >> 1) % DIMENSIONS, 1.0 if digest & 1 else -1.0


def _unit(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.sqrt(np.sum(matrix * matrix, axis=1, keepdims=True))
    unit: NDArray[np.float64] = np.divide(matrix, length, out=np.zeros_like(matrix), where=length > 0)
    return unit
