"""How words are taken apart and put together."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
from agro_data.profiling.names.words import inflector, number_forms
said = inflector().a("hour"), number_forms("boxes")
import inflect, typeguard
print(said, "typeguard" in inflect.engine.plural_noun.__code__.co_names, typeguard.typechecked.__name__)
"""


def test_inflect_is_loaded_without_what_checks_its_arguments() -> None:
    """To rewrite its functions takes seconds of each process; whoever uses typeguard besides finds it as it was."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "('an hour', ('box', 'boxes')) False typechecked"
