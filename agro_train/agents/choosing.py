"""Several models that are asked the same: all found before the first is loaded, each once, by names of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from agro_train.agents.endpoint import Server
from agro_train.agents.opening import Found, find_agent
from agro_train.questions import Questions
from agro_train.runs.corpora import seen_by
from agro_train.runs.store import ModelRun


def told_apart(names: Iterable[str], models: Path, cache: Path, asked: Iterable[Questions] = ()) -> dict[str, Found]:
    """The models of these names, by what each is called beside the others; one that has two names is there once.

    Raises like `find_agent`, and `SeenInTraining` for a model that was trained on what is `asked` about.
    """
    sets, called, files, there = list(asked), dict[str, Found](), set[str](), set[object]()
    for name in dict.fromkeys(names):
        found = find_agent(name, models, cache)
        if isinstance(found, ModelRun):
            for questions in sets:
                questions.refuse_seen(seen_by(found), found.name)
        if _itself(found) in there:
            continue
        there.add(_itself(found))
        numbered = (f"{found.name} {number}" for number in range(2, 2 + len(files)))
        own = next(one for one in (found.name, *numbered) if slug(one) not in files)
        called[own] = found
        files.add(slug(own))
    return called


def _itself(found: Found) -> object:
    """What is the same however it is named."""
    if isinstance(found, Server):
        return found.base.rstrip("/"), found.name
    return (found.model if isinstance(found, ModelRun) else found.path).resolve()


def slug(name: str) -> str:
    """A name made fit for a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "unnamed"
