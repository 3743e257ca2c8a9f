"""Models behind a scripted server that keep what they were sent."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class RecordingModel(ABC):
    """`said` holds the text of each request, its messages one below the other."""

    said: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, body: Mapping[str, Any]) -> str:
        text = "\n".join(message["content"] for message in body["messages"])
        with self.lock:
            self.said.append(text)
        return self.answer(text, body["seed"])

    @abstractmethod
    def answer(self, text: str, seed: int) -> str: ...
