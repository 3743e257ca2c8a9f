"""GRPO by TRL's trainer: prompts, rollouts played and scored, credit, and the step that is learnt."""
