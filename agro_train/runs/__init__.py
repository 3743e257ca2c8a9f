"""Trained models on disk: drafts, runs, what they were made of, and the corpora they have seen."""
