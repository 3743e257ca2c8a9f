"""Proofs that two queries give the same answer on every database that obeys a schema."""

from agro_data.verify.proofs.prove import proved_equivalent

__all__ = ["proved_equivalent"]
