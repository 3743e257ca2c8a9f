"""Intents drawn from a profile: what there is to ask, what people ask, and what makes sense."""
