"""SPA-RL's progress head (2505.20732): how much each turn contributed to the final reward, read off the policy's state.

The head looks at the policy's last hidden state at the last token of each turn. The contributions of a rollout are
trained to add up to its reward; the policy gets no gradient from it. Importing this module imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agro_train.advantages import Floats, spa_loss
from agro_train.programs.settings import SettingsError
from agro_train.reinforcement.credit import by_episode, owners_of
from agro_train.reinforcement.episodes import Episode

WIDTH = 64
FILE = "progress_head.pt"


class ProgressHead:
    """A small network beside the policy, trained on each batch before it says what the batch's turns contributed."""

    def __init__(self, hidden: int, device: Any, *, learning_rate: float, updates: int, seed: int) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.network = torch.nn.Sequential(
                torch.nn.LayerNorm(hidden),
                torch.nn.Linear(hidden, WIDTH),
                torch.nn.GELU(),
                torch.nn.Linear(WIDTH, 1),
            ).to(device)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=learning_rate)
        self.updates = updates

    def contributions(
        self,
        states: torch.Tensor,
        episodes: Sequence[Episode],
        average: Callable[[torch.Tensor], torch.Tensor] = lambda gradient: gradient,
    ) -> tuple[list[Floats], float]:
        """What each turn of each episode contributed, and the loss before the update. `states` (turns of all, hidden).

        `average` takes the mean of a gradient over processes. Raises `SettingsError` where an update has left no
        numbers in the head.
        """
        owners = owners_of(episodes)
        rewards = [episode.reward.total for episode in episodes]
        owner = torch.tensor(owners, device=states.device)
        wanted = torch.tensor(rewards, device=states.device, dtype=torch.float32)
        before = spa_loss(self._read(states), owners, rewards)
        for _ in range(self.updates):
            sums = torch.zeros_like(wanted).index_add(0, owner, self.network(states).squeeze(1))
            self.optimizer.zero_grad()
            torch.nn.functional.mse_loss(sums, wanted).backward()  # type: ignore[no-untyped-call]
            for parameter in self.network.parameters():
                if parameter.grad is not None:
                    parameter.grad = average(parameter.grad)
            self.optimizer.step()
        found = self._read(states)
        if not np.isfinite(found).all():
            raise SettingsError("the progress head of SPA-RL gives no numbers any more: lower spa_learning_rate")
        return by_episode(found, episodes), before

    def save(self, folder: Path) -> None:
        """Beside the checkpoint of the policy."""
        torch.save({"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict()}, folder / FILE)

    def load(self, folder: Path) -> None:
        """Go on as saved."""
        device = next(self.network.parameters()).device  # of each process its own, whichever has saved
        state = torch.load(folder / FILE, weights_only=True, map_location=device)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])

    def _read(self, states: torch.Tensor) -> Floats:
        with torch.no_grad():
            return self.network(states).squeeze(1).double().cpu().numpy()  # type: ignore[no-any-return]


def last_states(module: Any, episodes: Sequence[Episode], batch: int) -> torch.Tensor:
    """The hidden state at the last token of each turn: (turns of all episodes, hidden), float32."""
    backbone = (module.get_base_model() if hasattr(module, "get_base_model") else module).base_model
    device = next(module.parameters()).device
    found: list[torch.Tensor] = []
    with torch.no_grad():
        for start in range(0, len(episodes), batch):
            some = episodes[start : start + batch]
            longest = max(len(one.rollout.tokens.so_far) for one in some)
            rows = [one.rollout.tokens.so_far for one in some]
            ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows], device=device)
            mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows], device=device)
            hidden = backbone(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
            for row, one in enumerate(some):
                found.append(hidden[row, _ends(one)].float())
    return torch.cat(found)


def _ends(episode: Episode) -> list[int]:
    """Where each turn's last token stands in prompt and completion together."""
    tokens = episode.rollout.tokens
    last = {turn: place for place, turn in enumerate(tokens.turns)}
    return [len(tokens.prompt) + last[turn] for turn in range(episode.turns)]
