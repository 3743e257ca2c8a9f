"""Language models: one client for all of them, and prompts as files. Only the prompts speak of SQL."""
