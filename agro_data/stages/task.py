"""What a worker is given: one shard of one stage."""

from __future__ import annotations

from dataclasses import dataclass

from agro_data.stages.context import Context


@dataclass(frozen=True)
class Task:
    """One shard of one stage, made from the shards `parts`. `count` is what is asked of it: candidates, or, in
    `distinct`, the most rows of one skeleton."""

    context: Context
    db_id: str
    shard: str = ""
    count: int = 0
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.db_id}, shard {self.shard}" if self.shard else self.db_id
