"""Training and evaluation on what `agro_data` makes; owns the command `agro` and the code location."""
