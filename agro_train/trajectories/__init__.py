"""Trajectories to learn from: made, by acting too, chosen for their diversity, and stored."""
