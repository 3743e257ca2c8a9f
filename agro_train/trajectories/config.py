"""Settings of the trajectories that a cold start learns from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from agro_data.config import DEFAULT_MODEL
from agro_data.models import DEFAULT_WRITER
from agro_data.profiling.serialising.serialise import Style
from agro_train.language_model.tokens import token_counter
from agro_train.programs.settings import (
    SettingsError,
    check_counts,
    check_finite,
    check_seed,
    check_shares,
    find_cache,
    settings_to,
)
from agro_train.programs.usual import COMPACT, PROMPT_BUDGET
from agro_train.tasks import PromptFormat
from agro_train.trajectories.acting import Attempts
from agro_train.trajectories.teachers import Habits

# Where things lie, and how many work on them.
PLACES = ("corpus", "databases", "pairs", "trajectories", "models", "cache", "workers")
TeacherKind = Literal["decomposition", "model", "both"]
Selection = Literal["diverse", "random"]
_CHOICES = {"teacher": get_args(TeacherKind), "selection": get_args(Selection), "style": get_args(Style)}


@dataclass(frozen=True)
class TrajectoriesConfig:
    """Settings. `corpus` is the folder of a version, `databases` the folder its databases lie in.

    `pairs` (a file of questions with SQL) is learnt from instead of the corpus; or beside it, when `corpus` is given
    too. `examples` is how many trajectories are learnt from, out of `pool` times as many that are made; where the
    teacher is a model, out of its right attempts at that many questions.
    """

    corpus: str = ""  # a version's folder
    databases: str = ""  # the folder of its databases
    pairs: str = ""  # a file of questions with SQL, learnt from instead of the corpus, or beside it
    trajectories: str = "datasets"  # where their version is written
    models: str = "models"  # where runs lie
    cache: str = ""  # profiles, unpacked models, a teacher's attempts; `$AGRO_CACHE` or .agro-cache, if empty
    model: str = DEFAULT_WRITER  # what training starts from: a Hub id, a folder, a run
    examples: int = 2_000  # trajectories to learn from
    pool: float = 1.5  # how many times as many are made to choose from
    selection: Selection = "diverse"  # how they are chosen of those that are made
    embedding_model: str = DEFAULT_MODEL  # what diversity is told by: a Hub id, a path, or structural
    leave: float = 0.0  # share of the databases that are not learnt from, so that GRPO finds some to learn about
    decompose: float = 0.25  # share of trajectories that take the example's steps
    explore: float = 0.1  # share that look first
    mistake: float = 0.05  # share that go wrong first, and recover
    rehearse: float = 0.1  # share that run the answer before they give it
    respell: float = 0.0  # share on a database with respelt names, so that names must be read
    respell_beside: bool = False  # those on their own database, too: a question is then learnt under both names
    link: float = 1.0  # share that say tables and columns of a query before they write it
    teacher: TeacherKind = "decomposition"  # the examples' steps, a model's right attempts, or both
    teacher_model: str = ""  # a run, folder, Hub id or URL; empty: the model that training starts from
    teacher_samples: int = 4  # attempts at each of `examples` times `pool` questions
    teacher_temperature: float = 0.7  # how they are sampled
    teacher_keep: int = 1  # right attempts of a question that are kept, at most: the first that differ
    teacher_dtype: str = "float32"  # type of its weights
    turns: int = 4  # turns of a trajectory at most
    style: Style = COMPACT  # how a schema is written
    budget: int = PROMPT_BUDGET  # tokens of a schema at most
    seed: int = 0  # same seed, same trajectories and training
    workers: int = 2  # processes that run SQL

    def __post_init__(self) -> None:
        find_cache(self)
        check_finite(self)
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise SettingsError(f"there is no {name} {getattr(self, name)!r}; use {', '.join(known)}")
        check_counts(self, "examples", "pool", "turns", "budget", "workers")
        check_shares(self, "leave", "decompose", "explore", "mistake", "rehearse", "respell", "link")
        check_seed(self)
        if self.respell_beside and not self.respell:
            raise SettingsError("respell_beside is set and respell is 0: no question has other names; set respell, too")
        if self.taught_by:
            _ = self.attempts

    @property
    def taught_by(self) -> str:
        """The name of the model whose right attempts are learnt from; "" where the examples' own steps are all."""
        return "" if self.teacher == "decomposition" else self.teacher_model or self.model

    @property
    def of_each_question(self) -> float:
        """How many trajectories a question gives at most, on average; a model answers it once."""
        return 1.0 + self.respell if self.respell_beside and self.teacher != "model" else 1.0

    @property
    def attempts(self) -> Attempts:
        return Attempts(self.teacher_samples, self.teacher_temperature, self.teacher_keep)

    @property
    def habits(self) -> Habits:
        return Habits(self.explore, self.mistake, self.rehearse, self.turns, self.decompose, self.link)

    def prompt_format(self, tokenizer: Any) -> PromptFormat:
        """How prompts are written for a model with this tokenizer."""
        return PromptFormat(self.style, self.budget, token_counter(tokenizer), self.turns)

    def making(self) -> dict[str, Any]:
        """The settings that decide which trajectories there are, beside the corpus; as JSON values."""
        names = {field.name for field in fields(TrajectoriesConfig)} - {*PLACES}
        return {name: value for name, value in settings_to(self).items() if name in names}
