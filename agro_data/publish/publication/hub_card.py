"""The card of a published version: what the version's own card says, and what only a publication knows.

Licences, checks, sources, personal data, decontamination and value figures come from the manifest that is published.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl
import yaml

from agro_data.publish.card import SIZES, columns, setting
from agro_data.publish.markdown import TEMPLATES
from agro_data.publish.publication.personal import KINDS
from agro_data.publish.read import CERTIFICATE
from agro_data.publish.summary import SPLITS, funnel_stages, schema_coverage

PLOTS = "plots"
LISTED = 12  # rows of a long table


def render_hub_card(manifest: Mapping[str, Any], examples: pl.DataFrame, plots: Mapping[str, str]) -> str:
    """The card (Markdown with a YAML head) of a published `manifest` whose rows are `examples`.

    `plots` gives the picture's path in the repository by its title. Raises `jinja2.UndefinedError` when a key the
    card needs is absent.
    """
    counts = manifest["counts"]
    splits = [split for split in SPLITS if counts["splits"].get(split)]
    answerable = set(examples.filter("answerable")["split"])
    answered = [split for split in splits if split in answerable]  # `data/` holds no other rows, and no empty file
    funnel = funnel_stages(dict(manifest))
    return TEMPLATES.get_template("hub_card.md.j2").render(
        head=yaml.safe_dump(_head(manifest, splits, answered), sort_keys=False, allow_unicode=True).strip(),
        m=manifest,
        counts=counts,
        plots=plots,
        funnel=funnel,
        tried=funnel[0][1] if funnel else 0,
        reasons=list(counts["rejected_reasons"].items())[:LISTED],
        excluded={k: n for k, n in counts["rejected_reasons"].items() if ": excluded_" in k},
        leaked=sum(
            n for k, n in counts["rejected_reasons"].items() if k.endswith((": near_duplicate", ": split_leak"))
        ),
        coverage=schema_coverage(examples, manifest["databases"]).to_dicts(),
        columns=columns(),
        setting=setting(counts["dialects"]),
        licenses=Counter(source["license"] for source in manifest["databases"]).most_common(),
        shared=sum(bool(source["instances"]) for source in manifest["databases"]),
        kinds=KINDS,
        personal=_personal(manifest["personal_data"]),
        asked=_asked(manifest),
        verified=counts["alignment_methods"].get("verified", 0),
        split_method=manifest.get("split", {}).get("method", "skeleton"),
        config=json.dumps(manifest["config"], indent=1, sort_keys=True, ensure_ascii=False),
    )


def _head(manifest: Mapping[str, Any], splits: list[str], answered: list[str]) -> dict[str, Any]:
    counts = manifest["counts"]

    def files(folder: str, splits: list[str]) -> list[dict[str, str]]:
        return [{"split": split, "path": f"{folder}/{split}-*.parquet"} for split in splits]

    return {
        "pretty_name": manifest.get("pretty_name", manifest["corpus"]),
        "license": manifest["license"],
        "language": ["en"],
        "task_categories": ["text-generation"],
        "tags": ["text-to-sql", "sql", "synthetic", *sorted(counts["dialects"])],
        "size_categories": [next((label for bound, label in SIZES if counts["examples"] < bound), "n>1M")],
        "configs": [
            {"config_name": "default", "default": True, "data_files": files("data", answered)},
            {"config_name": CERTIFICATE, "data_files": files(CERTIFICATE, splits)},
        ],
    }


def _asked(manifest: Mapping[str, Any]) -> str:
    """What models took for each example, in words."""
    stages = manifest.get("asked_of_a_model", {}).values()
    tokens = sum(took.get("tokens_read", 0) + took.get("tokens_written", 0) for took in stages)
    if tokens:
        said = f"{tokens / max(manifest['counts']['examples'], 1):,.0f} tokens, read and written"
    else:
        said = "not recorded" if manifest["config"].get("writer") else "none: no model was asked for text"
    return f"{said}; what its solvers took is not counted" if "alignment" in manifest else said


def _personal(report: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Findings by kind: kind, how many, in how many files."""
    totals: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for kinds in report["found"].values():
        totals.update(kinds)
        files.update(list(kinds))
    return [(kind, totals[kind], files[kind]) for kind in KINDS]
