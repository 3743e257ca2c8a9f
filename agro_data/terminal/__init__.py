"""How `agro` speaks to a person: help, texts, tables, problems, and how it ends."""
