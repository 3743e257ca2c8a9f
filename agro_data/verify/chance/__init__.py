"""Whether an answer hangs on chance: where SQL leaves it open, what probes for ties give, and a shuffled copy."""
