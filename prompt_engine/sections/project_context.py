"""Project instructions, each under its path. `sources.context_files` selects the files."""

from collections.abc import Iterator, Mapping

from prompt_engine.context_file_types import ContextFile, FileNote, FileOutcome
from prompt_engine.facts import Facts, Fate
from prompt_engine.section import Section
from prompt_engine.sections.identity import SKIPPED
from prompt_engine.sections.text_files import prose
from prompt_engine.trust import told

NAME = "context_file"

FATES: Mapping[FileOutcome, Fate] = {
    "loaded": "kept",
    "cut": "truncated",
    "named": "truncated",
    "blocked": "blocked",
    "waiting": "absent",
    "unused": "absent",
    "empty": "absent",
    "unreadable": "dropped",
    "undecodable": "dropped",
    "outside": "dropped",
}


def write(facts: Facts) -> Iterator[Section]:
    """Yield a heading and the files in the given order, then the outcomes of the other files."""
    if facts.identity.skips_context_files:
        for file in facts.context_files:
            yield Section(NAME, "context", "", file.path, "dropped", SKIPPED)
        return
    if facts.context_files:
        yield Section("project_context", "context", prose("project_context"))
    notes = {note.path: note for note in facts.context_notes}
    for file in facts.context_files:
        yield _shown(file, notes.pop(file.path, None))
    for note in notes.values():
        yield Section(NAME, "context", "", note.path, FATES[note.outcome], _reason(note))


def _shown(file: ContextFile, note: FileNote | None) -> Section:
    """Return a file under its path; without a note, its length tells whether it was cut."""
    if note is None:
        outcome: FileOutcome = "cut" if file.total_characters > len(file.text) else "loaded"
        note = FileNote(file.path, outcome, file.total_characters, len(file.text))
    text = f"## {file.path}\n\n{file.text.strip()}"
    return Section(NAME, "context", text, file.path, FATES[note.outcome], _reason(note))


def _reason(note: FileNote) -> str:
    if note.outcome == "loaded" or note.reason:
        return note.reason
    if note.outcome == "cut":
        kept, total = note.kept_characters, note.total_characters
        return f"{kept:,} of {total:,} characters are shown"
    if note.findings:
        return told(note.findings)
    return note.outcome
