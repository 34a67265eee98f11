"""Scans a skill: checks its structure, and passes every text in it to the scan of the caller.

Time is linear in the size. Does no I/O. The patterns of harmful texts are not part of this package:
the server brings the scan along.
"""

import codecs
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Protocol

from skills_store.guard.contents import SkillContents
from skills_store.guard.structure import is_opaque, structure_findings
from skills_store.guard.verdict import Severity, SkillFinding, SkillVerdict, build_verdict

MAX_SCANNED_BYTES = 512 * 1024
"""Of all texts together, data files last. Several times the size of most skills."""

_DATA = {
    ".json",
    ".jsonl",
    ".csv",
    ".tsv",
    ".svg",
    ".xml",
    ".xsd",
    ".txt",
    ".log",
    ".ipynb",
    ".lock",
}
_PROSE = {".md", ".txt", ".rst", ".adoc", ".markdown", ""}


class TextFinding(Protocol):
    """Finding in a text."""

    @property
    def category(self) -> str:
        """Kind of harm."""
        ...

    @property
    def severity(self) -> Severity:
        """Effect on the verdict."""
        ...

    @property
    def description(self) -> str:
        """Short description that does not quote the text."""
        ...

    @property
    def line(self) -> int:
        """Line, counted from 1."""
        ...


class TextScan(Protocol):
    """Scan of a file's text for injected instructions and harmful commands, in linear time."""

    def __call__(self, text: str, *, is_program: bool) -> Sequence[TextFinding]:
        """Return the findings; `is_program` is false for prose."""
        ...


def scan_skill(contents: SkillContents, text_scan: TextScan) -> SkillVerdict:
    """Scan a skill and return the verdict. Never raises, for any content."""
    findings = list(structure_findings(contents))
    bytes_left = MAX_SCANNED_BYTES
    for name, data in sorted(contents.files.items(), key=lambda file: (_is_data(*file), file[0])):
        if is_opaque(name, data):
            continue
        if len(data) > bytes_left:
            severity: Severity = "caution" if _is_data(name, data) else "dangerous"
            findings.append(SkillFinding(name, 0, "structure", severity, "was only partly scanned"))
        text = _decode(data[: max(bytes_left, 0)])
        bytes_left -= len(data)
        is_program = PurePosixPath(name.lower()).suffix not in _PROSE or text.startswith("#!")
        findings += [
            SkillFinding(name, found.line, found.category, found.severity, found.description)
            for found in text_scan(text, is_program=is_program)
        ]
    return build_verdict(findings)


def _is_data(name: str, data: bytes) -> bool:
    return PurePosixPath(name.lower()).suffix in _DATA and not data.startswith(b"#!")


def _decode(data: bytes) -> str:
    """Decode a file leniently: invalid bytes are replaced."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        text = data.decode("utf-16", errors="replace")
    else:
        text = data.decode("utf-8", errors="replace").replace("\0", "")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ").replace("\v", " ")
