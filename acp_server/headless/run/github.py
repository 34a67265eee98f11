"""GitHub Actions integration: workflow commands on stdout, step summary and outputs.

Output of models and tools is written while command processing is stopped, so that it can never
inject a workflow command. Sources: "Workflow commands for GitHub Actions" and "Limits" in GitHub's
documentation.
"""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from acp_server.headless.run.findings import ReviewFinding, sort_findings

MAX_ANNOTATIONS_PER_LEVEL = 10
"""GitHub shows at most this many annotations per level and step."""
MAX_SUMMARY_BYTES = 1024 * 1024
TRUNCATED_NOTE = "\n\n… (the rest did not fit)\n"
LEVELS = {"error": "error", "warning": "warning", "note": "notice"}

_COMMAND = re.compile(r"^[^\S\n]*(?=::)", re.MULTILINE)
_OLD_COMMAND = re.compile(r"##\[")

Write = Callable[[str], None]


class GithubStep:
    """The workflow step in which this process runs."""

    def __init__(self, write: Write, environment: Mapping[str, str]) -> None:
        """Stop command processing; `write` is called with one line at a time."""
        self._write = write
        self._environment = environment
        # Unguessable: with a known token, printed text could resume command processing.
        self._token = secrets.token_hex(16)
        self._stop_commands()

    def send_command(self, text: str) -> None:
        """Send one workflow command to the runner."""
        self._write(f"::{self._token}::")
        self._write(text)
        self._stop_commands()

    def start_group(self, title: str) -> None:
        """Start a collapsible group in the log."""
        self.send_command(format_command("group", title))

    def end_group(self) -> None:
        """End the group."""
        self.send_command(format_command("endgroup", ""))

    def annotate(self, findings: Sequence[ReviewFinding], changed: Sequence[str]) -> int:
        """Annotate findings, as many as GitHub shows; return the number omitted."""
        shown = select_annotations(findings, changed)
        for finding in shown:
            self.send_command(annotation_command(finding))
        return len(findings) - len(shown)

    def append_summary(self, markdown: str) -> None:
        """Append to the step summary, truncated to its size limit."""
        file = self._environment.get("GITHUB_STEP_SUMMARY")
        if file:
            path = Path(file)
            available = MAX_SUMMARY_BYTES - (path.stat().st_size if path.exists() else 0)
            _append(path, truncate(markdown, available))

    def set_outputs(self, outputs: Mapping[str, str]) -> None:
        """Set outputs of the step."""
        file = self._environment.get("GITHUB_OUTPUT")
        if file:
            _append(Path(file), "".join(output_text(*each) for each in outputs.items()))

    def resume_commands(self) -> None:
        """Resume command processing."""
        self._write(f"::{self._token}::")

    def _stop_commands(self) -> None:
        self._write(f"::stop-commands::{self._token}")


def neutralize_commands(text: str) -> str:
    r"""Return a text with zero-width spaces inserted so that it contains no workflow command.

    >>> neutralize_commands("::error::a").encode("ascii", "backslashreplace")
    b'\\u200b::error::a'
    """
    return _OLD_COMMAND.sub("#\u200b#[", _COMMAND.sub("\\g<0>\u200b", text))


def format_command(name: str, value: str, **properties: object) -> str:
    r"""Return a workflow command on one line; properties that are None are omitted.

    >>> format_command("error", "50% of a\nb", file="a,b.py", line=3)
    '::error file=a%2Cb.py,line=3::50%25 of a%0Ab'
    """
    present = {key: each for key, each in properties.items() if each is not None}
    escaped = {
        key: _escape_data(str(each)).replace(":", "%3A").replace(",", "%2C")
        for key, each in present.items()
    }
    joined = ",".join(f"{key}={value}" for key, value in escaped.items())
    return f"::{name}{' ' if joined else ''}{joined}::{_escape_data(value)}"


def annotation_command(finding: ReviewFinding) -> str:
    """Return the workflow command that annotates a finding."""
    return format_command(
        LEVELS[finding.severity],
        finding.message or finding.title,
        file=finding.path,
        line=finding.line,
        endLine=finding.end_line,
        title=finding.title,
    )


def select_annotations(
    findings: Sequence[ReviewFinding], changed: Sequence[str]
) -> list[ReviewFinding]:
    """Return the findings to annotate: the most important ones, up to the limit per level."""
    shown: list[ReviewFinding] = []
    counts = dict.fromkeys(LEVELS, 0)
    for finding in sort_findings(findings, changed):
        if counts[finding.severity] < MAX_ANNOTATIONS_PER_LEVEL:
            counts[finding.severity] += 1
            shown.append(finding)
    return shown


def truncate(text: str, limit_bytes: int) -> str:
    """Return a text truncated to `limit_bytes` bytes of UTF-8, at a character boundary."""
    raw = text.encode(errors="replace")
    if len(raw) <= limit_bytes:
        return text
    available = limit_bytes - len(TRUNCATED_NOTE.encode())
    return "" if available < 0 else raw[:available].decode(errors="ignore") + TRUNCATED_NOTE


def output_text(name: str, value: str) -> str:
    """Return an entry for the GITHUB_OUTPUT file; its random delimiter prevents injection."""
    delimiter = f"output_{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
