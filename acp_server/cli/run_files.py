"""Output files of a finished run: last message, patch and JUnit report."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from acp_server.headless.run.findings import Finding
from acp_server.headless.run.junit import Case, junit
from acp_server.headless.run.report import Report
from acp_server.headless.run.sanitizing import Cleaner


def write_files(
    report: Report, places: Mapping[str, Path | None], cleaner: Cleaner
) -> Iterator[str]:
    """Write the requested files (`last message`, `patch`, `JUnit`); yield a text per failure."""
    contents = {
        "last message": f"{cleaner.plain(report.text)}\n".encode(),
        "patch": cleaner.patch(report.changes.patch),
        "JUnit": junit([case_of("task", report, cleaner)], cleaned(report.findings, cleaner)),
    }
    for name, place in places.items():
        if place is not None:
            problem = write_bytes(place, contents[name])
            if problem:
                yield f"the {name} cannot be written: {problem}"


def write_bytes(place: Path, data: bytes) -> str:
    """Write a file and its parent directories; return the error text, or "" on success."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    except OSError as error:
        return str(error)
    return ""


def cleaned(findings: Iterable[Finding], cleaner: Cleaner) -> tuple[Finding, ...]:
    """Return the findings with secrets and terminal control characters removed."""
    return tuple(
        finding.model_copy(
            update={
                "path": cleaner.line(finding.path),
                "title": cleaner.line(finding.title),
                "message": cleaner.plain(finding.message),
            }
        )
        for finding in findings
    )


def case_of(name: str, report: Report, cleaner: Cleaner) -> Case:
    """Return a run as a JUnit test case."""
    return Case(
        name,
        report.duration_seconds,
        report.outcome,
        cleaner.line(report.reason),
        cleaner.plain(report.text),
    )
