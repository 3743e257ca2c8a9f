"""Questions in a model's words: asked for, looked at, and the most central of several kept."""
