"""Sentences for the user about what a prompt is made of. Reads nothing, decides nothing."""

from collections.abc import Sequence

from prompt_engine.inputs import FileNote
from prompt_engine.report import Entry

TOLD_FATES = ("truncated", "blocked", "dropped")
TOLD_OUTCOMES = ("cut", "blocked", "unreadable", "undecodable")


def notices_on(entries: Sequence[Entry], notes: Sequence[FileNote]) -> list[str]:
    """Return a sentence for each text that the model does not see as it was written."""
    files = {note.path for note in notes}
    told = [
        entry.notice
        for entry in entries
        if entry.fate in TOLD_FATES and entry.source not in files and entry.notice
    ]
    return [*told, *note_texts(notes)]


def note_texts(notes: Sequence[FileNote]) -> list[str]:
    """Return a sentence for each file of which the model does not see all."""
    return [_note_text(note) for note in notes if note.outcome in TOLD_OUTCOMES]


def _note_text(note: FileNote) -> str:
    match note.outcome:
        case "cut":
            kept, total = note.kept_characters, note.total_characters
            return f"{note.path} is long: {kept:,} of its {total:,} characters are shown"
        case "blocked":
            lines = ", ".join(f"{each.pattern} in line {each.line}" for each in note.findings[:3])
            trust = f"`acp-server context trust {note.path}` allows exactly this text"
            return f"{note.path} is kept from the model: {lines}; {trust}"
        case _:
            return f"{note.path} cannot be used: {note.reason or note.outcome}"


def row_of(entry: Entry) -> str:
    """Return a section as a row of a table in Markdown."""
    fate = "" if entry.fate == "kept" else f"{entry.fate}: {entry.reason}".rstrip(": ")
    size = f"{entry.characters:,} | {entry.estimated_tokens:,}"
    return f"| {entry.name} | {entry.source} | {size} | {fate} |"
