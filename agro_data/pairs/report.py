"""What was found, as rows for programs and as one HTML page that opens from a disk without a network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from agro_data.pages import packed, templates
from agro_data.pairs.audit import Audit, Mended
from agro_data.pairs.finding import KINDS, Checked, Severity
from agro_data.pairs.verify import Verified

DID = {
    "unknown_name": "written as the schema does",
    "null_compared": "IS NULL for = NULL, IS NOT NULL for <> NULL",
    "null_in_list": "the NULLs are left out of the list",
    "null_first": "rows without a value are left out",
    "text_against_number": "the number is written as the text is",
    "date_not_read": "the dates are put into ISO's form",
    "none_counted": "a column of the joined table is counted",
    "distinct_missing": "with DISTINCT",
    "tie_at_limit": "rows that compare equal are settled by what comes out: one of the answers that were open",
    "tie_in_order": "rows that compare equal are settled by what comes out: one of the orders that were open",
    "unlinked_join": "joined along the one foreign key between the tables",
    "useless_predicate": "the condition is taken out",
    "useless_join": "the join is taken out",
    "useless_distinct": "DISTINCT is taken out",
    "literal_other_case": "written as the data do",
    "literal_misspelt": "written as the data do",
    "literal_other_form": "written as the data do",
    "text_as_number": "read as numbers or dates, which is what the texts are",
    "bound_differs": "compared with the bound itself, or without it, as the question says",
    "order_reversed": "turned, as the question says",
    "extreme_reversed": "turned, as the question says",
}
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


def audit_lines(audit: Audit) -> Iterator[dict[str, Any]]:
    """Every pair as a line of the audit: its verdict, and `repair`: the new SQL, what each step mended and what it did,
    the findings that are left, and the certificate; None where nothing was mended. `refused`: repairs that did not
    hold, each with the class, the SQL that was tried and the reason.
    """
    refused = _refused(audit)
    for number, one in enumerate(audit.verified.checked):
        yield {**verdict(one), "repair": _repair(audit.mended.get(number)), "refused": refused[number]}


def _refused(audit: Audit) -> defaultdict[int, list[dict[str, str]]]:
    """Repairs that did not hold, by the number of the pair."""
    refused: defaultdict[int, list[dict[str, str]]] = defaultdict(list)
    for one in audit.refused:
        refused[one.number].append({"kind": one.kind, "sql": one.sql, "why": one.why})
    return refused


def _repair(mended: Mended | None) -> dict[str, Any] | None:
    if mended is None:
        return None
    after = verdict(mended.checked)
    steps = [{"kind": one.finding.kind, "did": DID[one.finding.kind], "sql": one.sql} for one in mended.repairs]
    return {"sql": mended.sql, "steps": steps, "left": after["findings"], "certificate": after["certificate"]}


def audit_summary(audit: Audit) -> dict[str, Any]:
    """Figures of the audit: the verdicts' figures, mended pairs by class, and repairs that did not hold."""
    mended: Counter[str] = Counter()
    for one in audit.mended.values():
        mended.update({repair.finding.kind for repair in one.repairs})
    return {
        **summary(audit.verified),
        "mended": len(audit.mended),
        "mended_by_class": {kind: mended[kind] for kind in KINDS if mended[kind]},
        "refused": [
            f"{audit.verified.checked[one.number].pair.place}: {one.kind}: not mended: {one.why}"
            for one in audit.refused
        ],
    }


def verdict(checked: Checked) -> dict[str, Any]:
    """One pair as a line of the verdict file: `score` is 0 when something certain and grave was found, else 1.

    A pair that could not be checked has neither, and `unchecked` says why.
    """
    pair = checked.pair
    return {
        "place": pair.place,
        "db_id": pair.db_id,
        "question": pair.question,
        "sql": pair.sql,
        "split": pair.split,
        "score": None if checked.unchecked else 0.0 if checked.grave else 1.0,
        "unchecked": checked.unchecked,
        "findings": [finding.as_dict() for finding in checked.findings],
        "certificate": None if checked.certificate is None else asdict(checked.certificate),
    }


def summary(verified: Verified) -> dict[str, Any]:
    """Figures of the whole: pairs, the share of sound ones in all rows, and pairs by class with one example each."""
    return {
        "pairs": len(verified.checked),
        "unread": verified.unread,
        "sound": round(verified.sound, 6),
        "databases": len({one.pair.db_id for one in verified.checked}),
        "without_findings": sum(not one.findings and not one.unchecked for one in verified.checked),
        "unchecked": sum(bool(one.unchecked) for one in verified.checked),
        "mutants": _mutants(verified),
        "classes": list(_classes(verified)),
        "problems": list(verified.problems),
        "notes": list(verified.notes),
    }


def said_of(figures: dict[str, Any]) -> str:
    """The share of sound ones in words, and of what: of rows, where some are no pair since they cannot be read."""
    rows = figures["pairs"] + figures["unread"]
    return f"{figures['sound']:.1%} of {rows:,} {'rows' if figures['unread'] else 'pairs'} are sound"


def left_out(figures: dict[str, Any]) -> str:
    """How many of these rows were neither found sound nor faulty, in words; "" where there are none."""
    counts = [(figures["unread"], "read"), (figures["unchecked"], "checked")]
    return "".join(f"; {count:,} could not be {what}" for count, what in counts if count)


def class_row(figures: Mapping[str, Any]) -> dict[str, Any]:
    """A class of findings, of a summary's `classes`, as a row of a table."""
    return {
        "pairs": figures["pairs"],
        "severity": figures["severity"] + ("" if figures["certain"] else ", possible"),
        "class": figures["kind"],
        "what": figures["title"],
        "first": figures["example"].split(": ", 1)[0],
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


def render_report(verified: Verified, title: str, audit: Audit | None = None) -> str:
    """The page as HTML text: classes with counts, and every pair that has a finding, to be filtered and searched.

    With `audit` also what was mended, and the repairs that did not hold.
    """
    lines = audit_lines(audit) if audit is not None else map(verdict, verified.checked)
    rows = [line for line in lines if line["findings"]]
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
