"""Supervised fine-tuning by TRL's trainer."""
