"""What lets somebody in: passwords, their hashes, keys and tokens. Of these a corpus keeps names, and no value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agro_data.databases.types import Cell
from agro_data.profiling.names.words import word_set
from agro_data.profiling.profile import ColumnProfile, Kind

# Forms that nothing else has: crypt's hashes, Django's, Argon2's; keys of Stripe, GitHub, AWS, Slack and Google; JSON
# web tokens; private keys.
CREDENTIAL = re.compile(
    r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}|\$[156]\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,86}"
    r"|\$argon2(?:id|i|d)\$[\w$=,+/.-]{20,}|\bpbkdf2_sha\d+\$\d+\$[\w+/=.]+\$[\w+/=.]{20,}"
    r"|\b[rps]k_(?:live|test)_[A-Za-z0-9]{10,}|\bgh[opsur]_[A-Za-z0-9]{36}\b|\bA(?:KIA|SIA)[A-Z0-9]{16}\b"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bAIza[\w-]{35}\b"
    r"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}|-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"
)
_SECRET = word_set("password passwords passwd passphrase passcode pwd secret secrets otp totp apikey cvv cvc")
_RANDOM = word_set("token tokens salt nonce hmac")  # where nobody chose the values
_PAIRS = frozenset(
    (*((kind, "key") for kind in ("api", "access", "private", "encryption", "signing", "session", "license")),
     ("session", "data"), ("backup", "codes"), ("recovery", "codes"), ("security", "answer"))
)  # fmt: skip
_NOT_VALUES = word_set(
    "count length hint type kind status policy at on date expires expired expiry "
    "required enabled set flag is has needs attempts version algorithm method ballot service agent santa"
)  # of a secret, but none itself
_CHARACTERS = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.$:-]{12,}", re.DOTALL)  # of no word that somebody chose


def holds_credentials(words: Sequence[str], kind: Kind, values: Sequence[Cell]) -> bool:
    """Whether a column whose name is `words`, and which holds such `values`, lets somebody in who reads it.

    Told by its name; where that may mean something else (a token), by values that nobody chose, too.
    """
    texts = [value for value in values if isinstance(value, str) and value]
    if texts and all(CREDENTIAL.search(text) for text in texts):
        return True
    if kind in ("date", "datetime", "time", "boolean", "real") or not _NOT_VALUES.isdisjoint(words):
        return False
    if not _SECRET.isdisjoint(words) or tuple(words[-2:]) in _PAIRS:
        return True
    return not _RANDOM.isdisjoint(words[-1:]) and bool(texts) and all(map(_CHARACTERS.fullmatch, texts))


def unread(column: ColumnProfile) -> ColumnProfile:
    """The column as a name that stands in the schema: it is never asked for, and nothing of its values is kept."""
    return replace(column.without_values(), hidden=True)
