"""Language models: one client for all of them, and prompts as files. Knows nothing of SQL."""
