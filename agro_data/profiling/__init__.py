"""Profiles: what a database holds, what its parts are called, and how they hang together."""
