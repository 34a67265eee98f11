"""Reads one instruction file: decoded, scanned, frontmatter split off, not yet truncated."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from prompt_engine.context_file_types import ContextFileNote, ContextFileOutcome
from prompt_engine.decoding import UndecodableError, decode_text
from prompt_engine.findings import ThreatScan
from prompt_engine.frontmatter import split_frontmatter
from prompt_engine.hint_blocks import short_digest
from prompt_engine.sources.file_reading import FileId, ReadFailure, read_within
from prompt_engine.trust import (
    ScanVerdict,
    TrustCheck,
    blocked_line,
    describe_findings,
    marked_line,
    scan_file_text,
    sha256_of,
)


@dataclass(frozen=True, slots=True)
class InstructionSource:
    """Instruction file that was read but not yet judged."""

    label: str
    real_path: Path
    identity: FileId
    sha256: str
    text: str
    """Complete text, as scanned, so that line numbers are those of the file."""
    body: str
    """Text without frontmatter and surrounding whitespace."""
    values: Mapping[str, JsonValue]
    has_frontmatter: bool
    problem: str
    """Problem with its frontmatter, as a clause."""

    def assess(self, scan: ThreatScan, trusted: TrustCheck) -> ScanVerdict:
        """Scan the complete file."""
        return scan_file_text(self.text, scan, lambda: trusted(self.real_path, self.sha256))

    def note(
        self,
        outcome: ContextFileOutcome,
        verdict: ScanVerdict,
        kept_characters: int,
        reason: str = "",
    ) -> ContextFileNote:
        """Return a note on the outcome; of a trusted or marked file it names the findings."""
        despite = ""
        if verdict.is_trusted or verdict.is_marked:
            state = "trusted despite" if verdict.is_trusted else "marked for"
            despite = f"{state} {describe_findings(verdict.findings)}"
        reasons = "; ".join(part for part in (reason, despite, self.problem) if part)
        return ContextFileNote(
            self.label,
            outcome,
            len(self.body),
            kept_characters,
            reasons,
            verdict.findings,
            is_marked=verdict.is_marked and outcome in ("loaded", "cut"),
        )


_TEXT_SUFFIXES = frozenset({".md", ".mdc", ".markdown", ".mdx", ".txt", ".rst"})


@dataclass(frozen=True, slots=True)
class RenderedInstructions:
    """Instruction file as it may be shown: its text, perhaps marked, or what replaces it."""

    source: InstructionSource
    verdict: ScanVerdict
    text: str
    digest: str
    """Of the shown text: changes with the file, and when the user starts to trust it."""


def read_instruction_source(
    path: Path, label: str, boundary: Path
) -> InstructionSource | ContextFileNote | None:
    """Read a file that is inside a resolved directory after following links.

    Returns:
        A note if the file is unreadable, None if the name does not exist.
    """
    file = read_within(path, boundary)
    if file is None:
        return None
    if isinstance(file, ReadFailure):
        return ContextFileNote(label, file.outcome, reason=file.reason)
    # A repository could otherwise link an instruction file to any secret within the boundary.
    if file.real_path.name != path.name and file.real_path.suffix.lower() not in _TEXT_SUFFIXES:
        reason = f"it links to {file.real_path.name}, which is not an instruction file"
        return ContextFileNote(label, "outside", reason=reason)
    try:
        text = decode_text(file.raw)
    except UndecodableError as error:
        return ContextFileNote(label, "undecodable", reason=error.reason)
    parts = split_frontmatter(text)
    return InstructionSource(
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


def render_instructions(source: InstructionSource, verdict: ScanVerdict) -> RenderedInstructions:
    """Return a file's text, with a warning if need be, or the line that replaces it."""
    if verdict.is_blocked:
        text = line = blocked_line(source.label, verdict.findings)
    elif verdict.is_marked and source.body:
        line = marked_line(verdict.findings)
        text = f"{line}\n\n{source.body}"
    else:
        return RenderedInstructions(source, verdict, source.body, short_digest(source.sha256))
    digest = sha256_of(f"{source.sha256} {line}".encode())
    return RenderedInstructions(source, verdict, text, short_digest(digest))
