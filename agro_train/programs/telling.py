"""Metrics of training for people: which figures are drawn and said, and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agro_data.progress import clock

TITLES = {
    "loss": "loss",
    "reward": "reward",
    "format_rate": "format rate",
    "execution_rate": "execution rate",
    "right": "right answers",
    "clarified_rate": "asked back",
    "kl": "KL",
    "entropy": "entropy",
    "completion_length": "completion length",
    "turns": "turns",
    "informative_groups": "informative groups",
    "contested_groups": "groups with right and wrong attempts",
    "tokens_per_second": "tokens per second",
}
TERM = "reward/"
TAUGHT = ("informative_groups", "proved_groups")  # figures of GRPO: groups that taught something
PLACE = frozenset({"phase", "step", "steps", "seconds_left"})  # where a run stands


def figures(line: Mapping[str, Any]) -> dict[str, float]:
    """The figures of a line of metrics that are drawn over steps, by title; the terms of the reward among them."""
    terms = {name: f"reward: {name.removeprefix(TERM)}" for name in line if name.startswith(TERM)}
    found = {title: line.get(name) for name, title in (TITLES | terms).items()}
    return {
        title: float(value)
        for title, value in found.items()
        if isinstance(value, int | float) and value == value  # noqa: PLR0124 (what is not a number is not drawn)
    }


def said(line: Mapping[str, Any]) -> str:
    """A line of metrics in words: "grpo step 12 of 100: loss 0.1234, reward 0.5, 20 min 5 s left"."""
    shown = figures(line) or {name.replace("_", " "): line[name] for name in line if name not in PLACE}
    listed = [f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in shown.items()]
    if line.get("seconds_left"):
        listed.append(f"{clock(line['seconds_left'])} left")
    of = f" of {line['steps']:,}" if "steps" in line else ""
    step = f" step {line['step']:,}{of}" if "step" in line else ""
    return f"{line.get('phase', 'training')}{step}: {', '.join(listed)}"


def why_nothing_was_learned(lines: Iterable[Mapping[str, Any]]) -> str:
    """What to do about a training, of these lines of metrics, that left the weights as they were."""
    groups = [line[name] for line in lines for name in TAUGHT if name in line]
    if groups and not any(groups):
        return (
            "in no group rewards differed; take more steps, more prompts, a higher temperature or a longer cold start"
        )
    return "see its curves; take more steps or a higher learning rate"
