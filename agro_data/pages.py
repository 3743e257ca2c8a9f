"""What HTML pages that open from a disk, without a network, are made of: templates, and the rows they carry."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates(package: str) -> Environment:
    """The HTML templates of a package's folder `templates/`; values are escaped, one that is missing is an error."""
    return Environment(
        loader=PackageLoader(package), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )


def packed(value: Any) -> str:
    """A JSON value as gzip in base64, the same for the same value: a page unpacks it when it is looked at."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
