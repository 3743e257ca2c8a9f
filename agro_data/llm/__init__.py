"""Language models: one client for all of them, and what a prompt is. Nothing here knows of SQL."""
