"""Writes all reports of a fleet into a directory. Blocking."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_server.fleet.outcomes import UnitOutcome, worst_of
from acp_server.fleet.reports.html_report import html_pieces
from acp_server.fleet.reports.json_report import json_pieces
from acp_server.fleet.reports.loading import ReportedUnit, findings_of
from acp_server.fleet.reports.markdown import markdown_summary
from acp_server.fleet.reports.summary import FleetSummary, summarize
from acp_server.fleet.results import UnitResult
from acp_server.headless.run.finding_formats import code_quality_report, sarif_report
from acp_server.headless.run.findings import ReviewFinding
from acp_server.headless.run.junit import JunitCase, junit_report
from acp_server.headless.run.outcome import EXIT_CODES
from acp_server.headless.run.report import RESULT_VERSION
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.text.json_values import Object, as_object, as_text

TITLE = "acp-server: report on tasks"


@dataclass(frozen=True, slots=True)
class WrittenReports:
    """Reports that were written."""

    summary: FleetSummary
    outcome: UnitOutcome
    markdown: str
    """The text of summary.md."""
    files: tuple[Path, ...]


def outcome_of(results: Sequence[UnitResult], min_pass: float | None) -> UnitOutcome:
    """Return the outcome of a fleet: the worst one, or `done` if enough tasks passed.

    Tasks that did not run count as not passed: a fleet that was stopped early has not shown more.
    """
    passed = sum(each.is_passed for each in results)
    if min_pass is not None and results and passed >= min_pass * len(results):
        return "done"
    return worst_of([each.outcome for each in results])


def write_reports(
    units: Sequence[ReportedUnit],
    directory: Path,
    cleaner: OutputSanitizer,
    *,
    min_pass: float | None = None,
    head: Object | None = None,
) -> WrittenReports:
    """Write report.json, summary.md, report.html, junit.xml and, with findings, SARIF and more.

    `head` has fields of report.json that the caller knows better, such as the outcome.

    Raises:
        OSError: A file cannot be written.
    """
    results = [each.result for each in units]
    summary = summarize(results)
    outcome = outcome_of(results, min_pass)
    markdown = markdown_summary(results, summary, cleaner.plain)
    json_head: Object = {
        "type": "result",
        "version": RESULT_VERSION,
        "outcome": outcome,
        "exit_code": EXIT_CODES[outcome],
        **(head or {}),
        "summary": summary.as_json(),
    }
    findings: list[ReviewFinding] = []
    has_findings = False
    for unit in units:
        details = unit.details()
        has_findings = has_findings or "findings" in as_object(
            as_object(details.get("result")).get("answer")
        )
        findings += _clean_findings(findings_of(details), cleaner)
    files = {
        "report.json": json_pieces(json_head, (cleaner.json(_entry(each)) for each in units)),
        "summary.md": [markdown],
        "report.html": html_pieces(TITLE, units, summary, cleaner.plain),
        "junit.xml": [junit_report([_junit_case(each, cleaner) for each in units]).decode()],
    }
    if has_findings or findings:
        files["findings.sarif"] = [sarif_report(findings).decode()]
        files["gl-code-quality-report.json"] = [code_quality_report(findings).decode()]
    directory.mkdir(parents=True, exist_ok=True)
    written = tuple(_write_pieces(directory / name, pieces) for name, pieces in files.items())
    return WrittenReports(summary, outcome, markdown, written)


def _entry(unit: ReportedUnit) -> Object:
    result = unit.result
    return unit.details() or {
        "id": result.id,
        "outcome": result.outcome,
        "patch": None,
        "log": None,
        "result": None,
        "unit": result.as_json(),
    }


def _junit_case(unit: ReportedUnit, cleaner: OutputSanitizer) -> JunitCase:
    result = unit.result
    text = as_text(as_object(unit.details().get("result")).get("text"))
    reason = cleaner.line(result.reason)
    return JunitCase(result.id, result.seconds, result.outcome, reason, cleaner.plain(text))


def _clean_findings(
    findings: Iterable[ReviewFinding], cleaner: OutputSanitizer
) -> Iterable[ReviewFinding]:
    return (
        each.model_copy(
            update={
                "path": cleaner.line(each.path),
                "title": cleaner.line(each.title),
                "message": cleaner.plain(each.message),
            }
        )
        for each in findings
    )


def _write_pieces(file: Path, pieces: Iterable[str]) -> Path:
    """Write a file piece by piece under another name, so that no reader sees a half of it."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8", errors="replace") as stream:
            stream.writelines(pieces)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    return file
