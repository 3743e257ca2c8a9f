"""Small instances of a database, directed by a query: rows on which a wrong query answers something else.

After the structural-aware augmentation of AGRO-SQL (arXiv 2512.23366); what the paper leaves open is our decision
(METHODS 1.1): witness rows by a small constraint solver, closed under keys and foreign keys.
"""

from agro_data.populate.instances.compose import compose, random_rows
from agro_data.populate.instances.constraints.schema import instance_schema
from agro_data.populate.instances.directed.focus import focus_of
from agro_data.populate.instances.directed.proposal import Focus, PartialRow, Proposal, Unknown
from agro_data.populate.instances.directed.propose import instances
from agro_data.populate.instances.directed.witness import witnesses

__all__ = [
    "Focus",
    "PartialRow",
    "Proposal",
    "Unknown",
    "compose",
    "focus_of",
    "instance_schema",
    "instances",
    "random_rows",
    "witnesses",
]
