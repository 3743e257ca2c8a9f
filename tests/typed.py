"""`agro` as a person types it, in the test's own process: each process of its own takes two seconds to load it.

tests/build/test_cli.py starts real ones.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from agro_train.cli import main


def typed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What `agro ARGUMENTS` in `folder` prints, and its exit status; its cache is `folder/cache`."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    surroundings = {"COLUMNS": "200", "AGRO_CACHE": str(folder / "cache")}
    with chdir(folder), mock.patch.dict(os.environ, surroundings), mock.patch.object(sys, "argv", ["agro", *arguments]):
        try:
            with redirect_stdout(out), redirect_stderr(err):
                main()
        except SystemExit as ended:
            status = int(ended.code or 0)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())
