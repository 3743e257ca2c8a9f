"""Licences by the names that the Hub gives them, and which of their conditions another would drop."""

from __future__ import annotations

# huggingface.co/docs/hub/repositories-licenses, August 2026; the Hub refuses a card with another.
_LISTED = """
apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m bigscience-bloom-rail-1.0 bigcode-openrail-m
afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5
cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0
cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0
cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0
lgpl lgpl-2.1 lgpl-3.0 isc h-research intel-research lppl-1.3c ms-pl apple-ascl apple-amlr mpl-2.0 odc-by odbl
openmdw-1.0 openmdw-1.1 openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib pddl lgpl-lr deepfloyd-if-license
fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2 llama3.3 llama4 grok2-community gemma unknown
other
"""
HUB = frozenset(_LISTED.split())
UNTOLD = frozenset({"other", "unknown", "cc"})  # their conditions are not in their names
_CONDITIONS = {
    "nc": "allows no commercial use",
    "nd": "allows no derivatives to be shared",
    "sa": "asks that derivatives are shared alike",
}
_SHARED_ALIKE = frozenset({"cdla-sharing-1.0", "odbl", "gfdl", "gpl", "gpl-2.0", "gpl-3.0", "agpl-3.0", "osl-3.0"})
_RESEARCH = frozenset({"fair-noncommercial-research-license", "h-research", "intel-research", "apple-amlr"})


def dropped(source: str, rows: str) -> str:
    """The conditions of a source's licence that the rows' licence does not have, in words; "" if there is none, or if
    one of the two licences is not known.
    """
    if UNTOLD & {source, rows}:
        return ""
    kept = _conditions(rows)
    return " and ".join(words for name, words in _CONDITIONS.items() if name in _conditions(source) - kept)


def _conditions(license_: str) -> frozenset[str]:
    found = set(license_.split("-")) & _CONDITIONS.keys() if license_.startswith("cc-") else set()
    found |= {"sa"} if license_ in _SHARED_ALIKE else set()
    return frozenset(found | ({"nc"} if license_ in _RESEARCH else set()))
