"""What was found, as rows for programs and as one HTML page that opens from a disk without a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from agro_data.pages import packed, templates
from agro_data.pairs.finding import KINDS, Checked, Finding, Severity
from agro_data.pairs.verify import Verified

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


def verdict(checked: Checked) -> dict[str, Any]:
    """One pair as a line of the verdict file: `score` is 0 when something certain and grave was found, else 1."""
    pair = checked.pair
    return {
        "place": pair.place,
        "db_id": pair.db_id,
        "question": pair.question,
        "sql": pair.sql,
        "split": pair.split,
        "score": 0.0 if checked.grave else 1.0,
        "findings": [_as_dict(finding) for finding in checked.findings],
        "certificate": None if checked.certificate is None else asdict(checked.certificate),
    }


def _as_dict(finding: Finding) -> dict[str, Any]:
    kind = KINDS[finding.kind]
    return {
        "kind": finding.kind,
        "severity": kind.severity,
        "certain": kind.certain,
        "says": finding.says,
        "witness": finding.witness,
        "remedy": kind.remedy,
    }


def summary(verified: Verified) -> dict[str, Any]:
    """Figures of the whole: pairs, share of sound ones, and pairs by class with one example each."""
    return {
        "pairs": len(verified.checked),
        "sound": round(verified.sound, 6),
        "databases": len({one.pair.db_id for one in verified.checked}),
        "without_findings": sum(not one.findings for one in verified.checked),
        "mutants": _mutants(verified),
        "classes": list(_classes(verified)),
        "problems": list(verified.problems),
        "notes": list(verified.notes),
    }


def _mutants(verified: Verified) -> dict[str, int] | None:
    """Mutants of all certified pairs together; None when no certificates were asked for."""
    found = [one.certificate for one in verified.checked if one.certificate is not None]
    if not found:
        return None
    return {
        "certified": len(found),
        "total": sum(one.mutants_total for one in found),
        "killed": sum(one.mutants_killed for one in found),
        "equivalent": sum(one.mutants_equivalent for one in found),
    }


def _classes(verified: Verified) -> Iterator[dict[str, Any]]:
    """Classes from the gravest to the least, each in the order of `KINDS`."""
    examples: dict[str, str] = {}
    for one in verified.checked:
        for finding in one.findings:
            examples.setdefault(finding.kind, f"{one.pair.place}: {finding.says}")
    counts = verified.counts
    for name in sorted(counts, key=lambda name: SEVERITIES.index(KINDS[name].severity)):
        kind = KINDS[name]
        yield {
            "kind": name,
            "severity": kind.severity,
            "certain": kind.certain,
            "pairs": counts[name],
            "title": kind.title,
            "remedy": kind.remedy,
            "example": examples[name],
        }


def render_report(verified: Verified, title: str) -> str:
    """The page as HTML text: classes with counts, and every pair that has a finding, to be filtered and searched."""
    rows = [verdict(one) for one in verified.checked if one.findings]
    databases = Counter(one.pair.db_id for one in verified.checked if one.grave)
    return (
        templates("agro_data.pairs")
        .get_template("pairs.html.j2")
        .render(
            title=title,
            summary=summary(verified),
            databases=sorted(databases.items(), key=lambda item: (-item[1], item[0]))[:20],
            rows=packed(rows),
        )
    )
