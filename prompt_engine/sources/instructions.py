"""One file of instructions: read, decoded, scanned, its frontmatter split off. Not yet cut."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from prompt_engine.decoding import UndecodableError, decode
from prompt_engine.findings import Scan
from prompt_engine.frontmatter import split
from prompt_engine.hints import short_digest
from prompt_engine.inputs import FileNote, FileOutcome
from prompt_engine.sources.reading import Identity, ReadFile, Unread, read_within
from prompt_engine.trust import Trusted, Verdict, blocked_line, judge, sha256_of, told


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read; whether it may be shown is not decided."""

    label: str
    real_path: Path
    identity: Identity
    sha256: str
    text: str
    """All of it, as it is scanned: lines are those of the file."""
    body: str
    """Without frontmatter and blank edges."""
    values: Mapping[str, JsonValue]
    has_frontmatter: bool
    problem: str
    """What is wrong with its frontmatter, in half a sentence."""

    def judge(self, scan: Scan, trusted: Trusted) -> Verdict:
        """Scan the whole file."""
        return judge(self.text, scan, lambda: trusted(self.real_path, self.sha256))

    def note(self, outcome: FileOutcome, verdict: Verdict, kept: int, reason: str = "") -> FileNote:
        """Say what became of the file; of a trusted one also despite what."""
        despite = f"trusted despite {told(verdict.findings)}" if verdict.is_trusted else ""
        reasons = "; ".join(part for part in (reason, despite, self.problem) if part)
        return FileNote(self.label, outcome, len(self.body), kept, reasons, verdict.findings)


_ENDINGS = frozenset({".md", ".mdc", ".markdown", ".mdx", ".txt", ".rst"})


@dataclass(frozen=True, slots=True)
class Shown:
    """A file as it may be shown: its text, or the line that stands for it."""

    source: Source
    verdict: Verdict
    text: str
    digest: str
    """Of what is shown: it changes with the file, and when the user begins to trust it."""


def read_source(path: Path, label: str, boundary: Path) -> Source | FileNote | None:
    """Return a file that lies, its links followed, in a resolved folder.

    A note if it cannot be read, None if nothing of that name is there.
    """
    match read_within(path, boundary):
        case None:
            return None
        case Unread() as unread:
            return FileNote(label, unread.outcome, reason=unread.reason)
        case ReadFile() as file if not _is_text_of_instructions(file.real_path, path):
            reason = f"it is a link to {file.real_path.name}, which is no text of instructions"
            return FileNote(label, "outside", reason=reason)
        case ReadFile() as file:
            return _source(file, label)


def _is_text_of_instructions(real_path: Path, path: Path) -> bool:
    """Whether a link leads to what may be shown to a model: a link could bring any secret."""
    return real_path.name == path.name or real_path.suffix.lower() in _ENDINGS


def show(source: Source, verdict: Verdict) -> Shown:
    """Return a file's text, or, if it is blocked, the line that stands for it."""
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
