"""What the assets of training can be given in Dagster's launchpad. The defaults suit two CPU cores.

(No postponed annotations here: Dagster reads the config's type from them.)
"""

from typing import Any

import dagster as dg
from pydantic import Field, field_validator

from agro_data.profiling.serialising.serialise import Style
from agro_train.language_model.precision import Precision
from agro_train.programs.usual import COMPACT, Kind
from agro_train.reinforcement.credit import Estimator
from agro_train.rewards import PresetName
from agro_train.trajectories.config import Selection, TeacherKind

# Settings that programs have options of other names for.
CALLED = {"model": "models", "any_names": "names: false", "allow_seen": "settings: {allow_seen: true}"}
FURTHER = "Any further setting of `python -m agro_train.{}`, by name."
FREEZE = "Share of the layers, from the first, that stay as they are, as do the embeddings; 0 trains all."
PRECISION = "mixed, bfloat16, float32, or auto: mixed or float32, whichever is faster here."

DOTTED = "In YAML with a dot, as in 1.0e-5: it takes 1e-5 for text."


class WithFurther(dg.Config):
    """An asset's config that has further `settings` for its program."""

    @field_validator("settings", mode="before", check_fields=False)
    @classmethod
    def _left_empty(cls, given: Any) -> Any:
        """A file whose lines below `settings:` are all comments says None."""
        return {} if given is None else given


class TrajectoriesConfig(WithFurther):
    """What the cold start learns from. The defaults suit two CPU cores."""

    examples: int = Field(180, description="Trajectories, chosen for their diversity.")
    pool: float = Field(1.5, description="How many times as many are made to choose from.")
    selection: Selection = Field("diverse", description="diverse, or random.")
    embedding_model: str = Field("structural", description="Of actions and thoughts: a Hub id; structural needs none.")
    teacher: TeacherKind = Field("decomposition", description="decomposition, model (its right attempts), or both.")
    teacher_model: str = Field("", description="A run, folder, Hub id or URL; the model that is trained, if empty.")
    teacher_samples: int = Field(4, description="Attempts of that model at each question.")
    style: Style = Field(COMPACT, description="How a schema is written: compact, ddl or mschema.")
    budget: int = Field(320, description="Tokens of a schema at most; where it fits whole, questions share it.")
    turns: int = Field(4, description="Turns of a trajectory at most.")
    # Of so few, most have to answer at once: else the small model looks again and again, and answers half of the time.
    decompose: float = Field(0.1, description="Share of trajectories that take the example's steps one by one.")
    explore: float = Field(0.05, description="Share that looks at the data first.")
    seed: int = Field(0, description="Same seed, same trajectories.")
    settings: dict[str, Any] = Field({}, description=FURTHER.format("cold_start"))


class ColdStartModelConfig(WithFurther):
    """How the cold start is learnt."""

    epochs: float = Field(1.0, description="Passes over the trajectories; 1 or 2.")
    learning_rate: float = Field(
        5e-4, description=f"The highest; it falls as a cosine. Larger models want less. {DOTTED}"
    )
    batch: int = Field(4, description="Trajectories of a step; if there are few, small steps teach more.")
    micro_batch: int = Field(4, description="Of these, how many go through the model together at most.")
    freeze: float = Field(0.5, description=FREEZE)
    lora: int = Field(0, description="Rank of adapters; 0: none.")
    precision: Precision = Field("auto", description=PRECISION)
    check_questions: int = Field(16, description="Questions whose answers are looked at in the end; 0: none.")
    settings: dict[str, Any] = Field({}, description=FURTHER.format("cold_start"))


class GrpoModelConfig(WithFurther):
    """How the model learns from its own attempts."""

    steps: int = Field(3, description="Steps of the optimiser.")
    prompts: int = Field(12, description="Questions to learn from: the model solves them now and then.")
    candidates: int = Field(24, description="Questions that are tried to find them, at most.")
    select_rollouts: int = Field(0, description="Attempts that decide on a question; 0 takes any whose gold holds.")
    prompts_per_step: int = Field(4, description="Questions of a step, on each GPU.")
    group: int = Field(4, description="Attempts at each question of a step.")
    rollout_tokens: int = Field(320, description="Tokens after its prompt that an attempt may have, observations too.")
    micro_batch: int = Field(8, description="Attempts that go through the model together at most.")
    learning_rate: float = Field(5e-6, description=f"Constant after the warm-up. {DOTTED}")
    reward: PresetName = Field(
        "arctic", description="Preset of reward terms: agro, reex, skyrl or arctic (which pays a little for what runs)."
    )
    advantage: Estimator = Field("grpo", description="Credit: grpo, gigpo, spa or pav.")
    freeze: float = Field(0.5, description=FREEZE)
    lora: int = Field(0, description="Rank of adapters; 0: none.")
    precision: Precision = Field("auto", description=PRECISION)
    use_vllm: bool = Field(False, description="Write the attempts by vLLM, in the same process.")
    seed: int = Field(0, description="Same seed, same steps.")
    settings: dict[str, Any] = Field({}, description=FURTHER.format("grpo"))


class ModelEvaluationConfig(WithFurther):
    """Which models are asked which questions. No `models`: the base, the cold start and the GRPO model last made, and
    the promoted one.
    """

    models: list[str] = Field([], description="Runs, folders, Hub ids; the others are compared with the first.")
    limit: int = Field(64, description="Questions of each set at most, spread over it; 0: all.")
    questions: list[str] = Field(
        [], description="Question files beside the corpus' test split, such as spider/dev.json."
    )
    questions_databases: str = Field("", description="The databases that those files are about.")
    decoding: Kind = Field("greedy", description="greedy, vote, adaptive or tree.")
    batch: int = Field(128, description="Turns that transformers writes together; larger models want fewer.")
    names: bool = Field(False, description="SQL may name only tables and columns of the schema.")
    direct: bool = Field(
        True,
        description="Ask models that were not trained here for a query at once, as most were taught; with a tree or "
        "`names`, which need turns, they are asked in turns.",
    )
    dtype: str = Field(
        "auto",
        description="Type of the weights; auto: the fastest here. Only float32 tells GRPO's smallest steps apart.",
    )
    seed: int = Field(0, description="Of samples and intervals.")
    settings: dict[str, Any] = Field({}, description=FURTHER.format("evaluate"))
