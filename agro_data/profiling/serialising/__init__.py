"""A schema as text for a prompt: linked to a question, under a budget, with the values that it says."""
