"""GitHub Actions integration: workflow commands on stdout, step summary and outputs.

Output of models and tools is written while command processing is stopped, so that it can never
inject a workflow command. Sources: "Workflow commands for GitHub Actions" and "Limits" in GitHub's
documentation.
"""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from acp_server.headless.run.findings import Finding, ranked

MOST_OF_A_LEVEL = 10
"""GitHub shows at most this many annotations per level and step."""
MOST_SUMMARY_BYTES = 1024 * 1024
CUT = "\n\n… (the rest did not fit)\n"
LEVELS = {"error": "error", "warning": "warning", "note": "notice"}

_COMMAND = re.compile(r"^[^\S\n]*(?=::)", re.MULTILINE)
_OLD_COMMAND = re.compile(r"##\[")

Write = Callable[[str], None]


class Workflow:
    """The workflow step in which this process runs."""

    def __init__(self, write: Write, environment: Mapping[str, str]) -> None:
        """Stop command processing; `write` is called with one line at a time."""
        self._write = write
        self._environment = environment
        # Unguessable: with a known token, printed text could resume command processing.
        self._token = secrets.token_hex(16)
        self._stop()

    def tell(self, text: str) -> None:
        """Send one workflow command to the runner."""
        self._command(text)

    def begin_group(self, title: str) -> None:
        """Start a collapsible group in the log."""
        self._command(command("group", title))

    def end_group(self) -> None:
        """End the group."""
        self._command(command("endgroup", ""))

    def annotate(self, findings: Sequence[Finding], changed: Sequence[str]) -> int:
        """Annotate findings, as many as GitHub shows; return the number omitted."""
        shown = shown_annotations(findings, changed)
        for finding in shown:
            self._command(annotation(finding))
        return len(findings) - len(shown)

    def summarise(self, markdown: str) -> None:
        """Append to the step summary, truncated to its size limit."""
        file = self._environment.get("GITHUB_STEP_SUMMARY")
        if file:
            path = Path(file)
            room = MOST_SUMMARY_BYTES - (path.stat().st_size if path.exists() else 0)
            _append(path, fitted(markdown, room))

    def put_out(self, outputs: Mapping[str, str]) -> None:
        """Set outputs of the step."""
        file = self._environment.get("GITHUB_OUTPUT")
        if file:
            _append(Path(file), "".join(output_text(*each) for each in outputs.items()))

    def end(self) -> None:
        """Resume command processing."""
        self._write(f"::{self._token}::")

    def _stop(self) -> None:
        self._write(f"::stop-commands::{self._token}")

    def _command(self, text: str) -> None:
        self._write(f"::{self._token}::")
        self._write(text)
        self._stop()


def harmless(text: str) -> str:
    r"""Return a text with zero-width spaces inserted so that it contains no workflow command.

    >>> harmless("::error::a").encode("ascii", "backslashreplace")
    b'\\u200b::error::a'
    """
    return _OLD_COMMAND.sub("#\u200b#[", _COMMAND.sub("\\g<0>\u200b", text))


def command(name: str, value: str, **properties: object) -> str:
    r"""Return a workflow command on one line; properties that are None are omitted.

    >>> command("error", "50% of a\nb", file="a,b.py", line=3)
    '::error file=a%2Cb.py,line=3::50%25 of a%0Ab'
    """
    given = {key: each for key, each in properties.items() if each is not None}
    listed = ",".join(f"{key}={_property(str(each))}" for key, each in given.items())
    return f"::{name}{' ' if listed else ''}{listed}::{_data(value)}"


def annotation(finding: Finding) -> str:
    """Return the workflow command that annotates a finding."""
    return command(
        LEVELS[finding.severity],
        finding.message or finding.title,
        file=finding.path,
        line=finding.line,
        endLine=finding.end_line,
        title=finding.title,
    )


def shown_annotations(findings: Sequence[Finding], changed: Sequence[str]) -> list[Finding]:
    """Return the findings to annotate: the most important ones, up to the limit per level."""
    shown: list[Finding] = []
    counts = dict.fromkeys(LEVELS, 0)
    for finding in ranked(findings, changed):
        if counts[finding.severity] < MOST_OF_A_LEVEL:
            counts[finding.severity] += 1
            shown.append(finding)
    return shown


def fitted(text: str, room_bytes: int) -> str:
    """Return a text truncated to `limit_bytes` bytes of UTF-8, at a character boundary."""
    raw = text.encode(errors="replace")
    if len(raw) <= room_bytes:
        return text
    room = room_bytes - len(CUT.encode())
    return "" if room < 0 else raw[:room].decode(errors="ignore") + CUT


def output_text(name: str, value: str) -> str:
    """Return an entry for the GITHUB_OUTPUT file; its random delimiter prevents injection."""
    delimiter = f"output_{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8", errors="replace") as opened:
        opened.write(text)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
