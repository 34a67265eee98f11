"""Reads one instruction file: decoded, scanned, frontmatter split off, not yet truncated."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from prompt_engine.context_file_types import FileNote, FileOutcome
from prompt_engine.decoding import UndecodableError, decode
from prompt_engine.findings import Scan
from prompt_engine.frontmatter import split
from prompt_engine.hint_blocks import short_digest
from prompt_engine.sources.file_reading import Identity, ReadFile, Unread, read_within
from prompt_engine.trust import Trusted, Verdict, blocked_line, judge, sha256_of, told


@dataclass(frozen=True, slots=True)
class Source:
    """Instruction file that was read but not yet judged."""

    label: str
    real_path: Path
    identity: Identity
    sha256: str
    text: str
    """Complete text, as scanned, so that line numbers are those of the file."""
    body: str
    """Text without frontmatter and surrounding whitespace."""
    values: Mapping[str, JsonValue]
    has_frontmatter: bool
    problem: str
    """Problem with its frontmatter, as a clause."""

    def judge(self, scan: Scan, trusted: Trusted) -> Verdict:
        """Scan the complete file."""
        return judge(self.text, scan, lambda: trusted(self.real_path, self.sha256))

    def note(self, outcome: FileOutcome, verdict: Verdict, kept: int, reason: str = "") -> FileNote:
        """Return a note on the file's outcome; for a trusted file it names the findings."""
        despite = f"trusted despite {told(verdict.findings)}" if verdict.is_trusted else ""
        reasons = "; ".join(part for part in (reason, despite, self.problem) if part)
        return FileNote(self.label, outcome, len(self.body), kept, reasons, verdict.findings)


_ENDINGS = frozenset({".md", ".mdc", ".markdown", ".mdx", ".txt", ".rst"})


@dataclass(frozen=True, slots=True)
class Shown:
    """Instruction file as it may be shown: its text, or the line that replaces it."""

    source: Source
    verdict: Verdict
    text: str
    digest: str
    """Of the shown text: changes with the file, and when the user starts to trust it."""


def read_source(path: Path, label: str, boundary: Path) -> Source | FileNote | None:
    """Read a file that is inside a resolved directory after following links.

    Returns:
        A note if the file is unreadable, None if the name does not exist.
    """
    match read_within(path, boundary):
        case None:
            return None
        case Unread() as unread:
            return FileNote(label, unread.outcome, reason=unread.reason)
        case ReadFile() as file if not _is_text_of_instructions(file.real_path, path):
            reason = f"it links to {file.real_path.name}, which is not an instruction file"
            return FileNote(label, "outside", reason=reason)
        case ReadFile() as file:
            return _source(file, label)


def _is_text_of_instructions(real_path: Path, path: Path) -> bool:
    """Return whether a link's target may be shown to a model.

    A repository could otherwise link an instruction file to any secret within the boundary.
    """
    return real_path.name == path.name or real_path.suffix.lower() in _ENDINGS


def show(source: Source, verdict: Verdict) -> Shown:
    """Return a file's text or, if it is blocked, the line that replaces it."""
    if not verdict.is_blocked:
        return Shown(source, verdict, source.body, short_digest(source.sha256))
    line = blocked_line(source.label, verdict.findings)
    digest = sha256_of(f"{source.sha256} {line}".encode())
    return Shown(source, verdict, line, short_digest(digest))


def _source(file: ReadFile, label: str) -> Source | FileNote:
    try:
        text = decode(file.raw)
    except UndecodableError as error:
        return FileNote(label, "undecodable", reason=error.reason)
    parts = split(text)
    return Source(
        label=label,
        real_path=file.real_path,
        identity=file.identity,
        sha256=sha256_of(file.raw),
        text=text,
        body=parts.body.strip(),
        values=parts.values,
        has_frontmatter=parts.is_present,
        problem=parts.problem,
    )
