"""Several models that are asked the same: all found before the first is loaded, each once, by names of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from agro_train.agents.opening import Found, find_agent
from agro_train.questions import Questions
from agro_train.runs.corpora import seen_by
from agro_train.runs.store import ModelRun


def told_apart(names: Iterable[str], models: Path, cache: Path, asked: Iterable[Questions] = ()) -> dict[str, Found]:
    """The models of these names, by what each is called beside the others; a run that has two names is asked once.

    Raises like `find_agent`, and `SeenInTraining` for a model that was trained on what is `asked` about.
    """
    sets, called, files = list(asked), dict[str, Found](), set[str]()
    for name in dict.fromkeys(names):
        found = find_agent(name, models, cache)
        if isinstance(found, ModelRun):
            for questions in sets:
                questions.refuse_seen(seen_by(found), found.name)
            if found.name in called:
                continue
        numbered = (f"{found.name} {number}" for number in range(2, 2 + len(files)))
        own = next(one for one in (found.name, *numbered) if slug(one) not in files)
        called[own] = found
        files.add(slug(own))
    return called


def slug(name: str) -> str:
    """A name made fit for a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "unnamed"
