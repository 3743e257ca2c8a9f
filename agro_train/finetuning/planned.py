"""TRL's SFTTrainer on the batches of a whole training, planned before: in rows of any kind, or padded. Importing this
module imports torch and trl."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trl import SFTConfig, SFTTrainer
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from agro_train.finetuning.config import FineTuning
from agro_train.finetuning.schedule import padded
from agro_train.language_model.tokens import Example
from agro_train.runs.ranks import on_one_gpu
from datasets import Dataset

Rows = dict[str, Any]  # tensors that a model reads together


def planned_trainer(
    kind: type[SFTTrainer],
    module: Any,
    batches: Sequence[Sequence[Any]],
    rows_of: Callable[[Any], Rows],
    common: dict[str, Any],
    given: dict[str, Any],
) -> Any:
    """The data set is the schedule of the whole training: an entry is a micro batch, in order, and epochs lie one
    after the other, so that a run that was killed goes on with the rows it would have had."""

    def collate(entries: list[dict[str, Any]]) -> Rows:
        [entry] = entries
        return rows_of(entry["batch"])

    settings = SFTConfig(
        **common,
        num_train_epochs=1,
        per_device_train_batch_size=1,
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    for facts in (module.config, module.generation_config):  # as TRL does where it pads itself
        facts.pad_token_id = given["processing_class"].pad_token_id
    data = Dataset.from_dict({"batch": [[*batch] for batch in batches]})
    return kind(model=module, args=on_one_gpu(settings), train_dataset=data, data_collator=collate, **given)


def padding_trainer(
    module: Any, examples: Sequence[Example], tuning: FineTuning, common: dict[str, Any], given: dict[str, Any]
) -> Any:
    """On examples that share nothing, a row each, padded to the longest of their batch."""
    batches = padded([len(example.ids) for example in examples], tuning.epochs, tuning.micro_batch, tuning.seed)
    collate = DataCollatorForLanguageModeling(pad_token_id=given["processing_class"].pad_token_id)

    def rows_of(places: list[int]) -> Rows:
        some = [examples[place] for place in places]
        rows: Rows = collate([{"input_ids": one.ids, "labels": one.labels} for one in some])
        return rows

    return planned_trainer(SFTTrainer, module, batches, rows_of, common, given)
