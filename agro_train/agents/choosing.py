"""Several models that are asked the same: all found before the first is loaded, each once, by names of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from agro_data.models import ModelMissing
from agro_train.agents.agent import is_url
from agro_train.agents.endpoint import open_endpoint
from agro_train.language_model.loading import find_folder
from agro_train.questions import Questions, Reading
from agro_train.runs.corpora import seen_by
from agro_train.runs.store import NoRun, find_run


def told_apart(names: Iterable[str], models: Path, cache: Path, asked: Iterable[Questions] = ()) -> dict[str, str]:
    """What each of the models is called beside the others, by the name it was given; a run that has two names is asked
    once.

    Raises like `agent.open_agent`, and `SeenInTraining` for a model that was trained on what is `asked` about.
    """
    sets, found, files = list(asked), dict[str, str](), set[str]()
    for name in dict.fromkeys(names):
        own, trained_on = _known(name, models, cache)
        for questions in sets:
            questions.refuse_seen(trained_on, own)
        if trained_on and own in found.values():
            continue
        numbered = (own if number == 1 else f"{own} {number}" for number in range(1, 2 + len(files)))
        found[name] = next(one for one in numbered if slug(one) not in files)
        files.add(slug(found[name]))
    return found


def slug(name: str) -> str:
    """A name as that of a file."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.") or "unnamed"


def _known(name: str, models: Path, cache: Path) -> tuple[str, frozenset[str]]:
    """What a model calls itself, and the databases it was trained on (hashes)."""
    if is_url(name):
        return open_endpoint(name, Reading()).name, frozenset()
    try:
        run = find_run(models, name)
    except NoRun as missing:
        if missing.ours:
            raise
        try:
            path = find_folder(name, cache)
        except ModelMissing as error:
            raise ModelMissing(f"{error}; and {missing}") from error
        return path.name if Path(name).is_dir() else name, frozenset()
    return run.name, seen_by(run)
