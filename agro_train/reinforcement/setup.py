"""GRPO's trainer made, its part in the choice of prompts, and what it leaves. Importing this module imports trl."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import torch
from accelerate.utils import gather_object
from transformers import PrinterCallback
from trl import GRPOConfig

from agro_train.language_model.loading import LanguageModel, load_tokenizer, make_savable
from agro_train.language_model.precision import settled
from agro_train.reinforcement.config import GrpoConfig
from agro_train.reinforcement.episodes import Player
from agro_train.reinforcement.log import GrpoLog
from agro_train.reinforcement.prompts import Share
from agro_train.reinforcement.trainer import AgenticTrainer
from agro_train.runs.ranks import on_one_gpu
from agro_train.runs.store import Draft


def make_trainer(
    config: GrpoConfig, model: LanguageModel, player: Player, draft: Draft, log: GrpoLog
) -> AgenticTrainer:
    """The trainer of these settings, which writes its checkpoints and TensorBoard's files in the draft."""
    cuda = torch.cuda.is_available()
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(draft.path / "tensorboard")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    rollouts = config.prompts_per_step * config.group
    args = GRPOConfig(
        output_dir=str(draft.checkpoints),
        seed=config.seed,
        use_cpu=not cuda,
        dataloader_pin_memory=cuda,
        max_steps=config.steps,
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=rollouts // config.micro_batch,
        steps_per_generation=rollouts // config.micro_batch,
        num_generations=config.group,
        num_iterations=config.iterations,
        shuffle_dataset=False,
        max_completion_length=config.rollout_tokens,
        temperature=config.temperature,
        disable_dropout=True,
        learning_rate=config.learning_rate,
        lr_scheduler_type=config.schedule,
        warmup_steps=config.warmup_steps,
        max_grad_norm=config.max_grad_norm,
        loss_type=config.loss_type,
        epsilon=config.epsilon,
        epsilon_high=config.epsilon_high,
        beta=config.beta,
        scale_rewards=config.scale,
        bf16=settled(config.precision) == "mixed",
        gradient_checkpointing=config.gradient_checkpointing,
        use_vllm=config.use_vllm,
        vllm_mode="colocate",
        vllm_gpu_memory_utilization=config.vllm_memory,
        logging_steps=config.log_steps,
        logging_nan_inf_filter=False,  # it puts the mean of other losses in place of one that is no number
        save_strategy="steps",
        save_steps=config.save_steps,
        save_total_limit=config.keep,
        report_to=["tensorboard"] if config.tensorboard else [],
        disable_tqdm=True,
    )
    trainer = AgenticTrainer(config, model, player, on_one_gpu(args), [log])
    trainer.remove_callback(PrinterCallback)  # what it prints, `log` reports
    return trainer


def share_of(trainer: AgenticTrainer) -> Share:
    """This process's part in the choice of prompts."""
    accelerator = trainer.accelerator
    return Share(accelerator.process_index, accelerator.num_processes, gather_object)


def save(trainer: AgenticTrainer, base: Path, folder: Path) -> None:
    """Save the model as one that needs no adapter. Every process calls it; sharded weights are gathered by TRL."""
    if not trainer.config.lora:
        trainer.save_model(str(folder))
        if trainer.accelerator.is_main_process:
            (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle, of this machine
        return
    from peft import AutoPeftModelForCausalLM  # noqa: PLC0415

    adapter = folder.with_name("adapter")
    trainer.save_model(str(adapter))
    if trainer.accelerator.is_main_process:
        # In float32: beside a weight with 8 bits most of what GRPO has learnt would be rounded away.
        whole = AutoPeftModelForCausalLM.from_pretrained(adapter, dtype=torch.float32).merge_and_unload()
        make_savable(whole)
        whole.save_pretrained(folder)
        load_tokenizer(base).save_pretrained(folder)
        shutil.rmtree(adapter)
