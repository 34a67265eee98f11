"""Output files of a finished run: last message, patch and JUnit report."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from acp_server.headless.run.findings import ReviewFinding
from acp_server.headless.run.junit import JunitCase, junit_report
from acp_server.headless.run.report import RunReport
from acp_server.headless.run.sanitizing import OutputSanitizer


def write_files(
    report: RunReport, paths: Mapping[str, Path | None], cleaner: OutputSanitizer
) -> Iterator[str]:
    """Write the requested files (`last message`, `patch`, `JUnit`); yield a text per failure."""
    contents = {
        "last message": f"{cleaner.plain(report.text)}\n".encode(),
        "patch": cleaner.patch(report.changes.patch),
        "JUnit": junit_report(
            [
                JunitCase(
                    "task",
                    report.duration_seconds,
                    report.outcome,
                    cleaner.line(report.reason),
                    cleaner.plain(report.text),
                )
            ],
            clean_findings(report.findings, cleaner),
        ),
    }
    for name, path in paths.items():
        if path is not None:
            problem = write_bytes(path, contents[name])
            if problem:
                yield f"the {name} cannot be written: {problem}"


def write_bytes(path: Path, data: bytes) -> str:
    """Write a file and its parent directories; return the error text, or "" on success."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        return str(error)
    return ""


def clean_findings(
    findings: Iterable[ReviewFinding], cleaner: OutputSanitizer
) -> tuple[ReviewFinding, ...]:
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
