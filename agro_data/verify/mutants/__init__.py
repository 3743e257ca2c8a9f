"""Mutants of a query: what it would be with one mistake in it."""

from agro_data.verify.mutants.edit import Mutant
from agro_data.verify.mutants.generate import mutants_of

__all__ = ["Mutant", "mutants_of"]
