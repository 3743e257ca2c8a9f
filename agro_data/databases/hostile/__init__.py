"""Where others' SQL runs: worker processes with guards, fed in batches, killed any time."""
