"""User-facing sentences about a prompt's contents. Pure text: reads nothing, decides nothing."""

from collections.abc import Mapping, Sequence

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.report import SectionReport

REPORTED_FATES = ("truncated", "blocked", "dropped")
REPORTED_OUTCOMES = ("cut", "blocked", "unreadable", "undecodable")
SHORTENED = "To fit the model's context window, it sees only part of {texts}"
LABELS: Mapping[str, str] = {
    "skills_index": "the list of skills",
    "external_memory": "the text of the memory provider",
}
"""Names for the user of sections that are no files."""


def prompt_notices(entries: Sequence[SectionReport], notes: Sequence[ContextFileNote]) -> list[str]:
    """Return a sentence for each text that the model sees only in part or not at all."""
    # The note on a file says more than the notice of its section; one of them is enough.
    files = {note.path: note for note in notes}
    section_notices = [
        entry.notice
        for entry in entries
        # What is left out and has no source is nothing that the user wrote, such as git's counts.
        if entry.fate in REPORTED_FATES and entry.source and entry.source not in files
    ]
    shortened = [entry for entry in entries if entry.fate == "shortened"]
    texts = ", ".join(_shortened_text(entry, files.get(entry.source)) for entry in shortened)
    # Of a file that was cut twice, the second cut says what is left.
    named = {entry.source for entry in shortened}
    other_notes = [n for n in notes if n.outcome != "cut" or n.path not in named]
    window_notices = [SHORTENED.format(texts=texts)] if texts else []
    return [*section_notices, *window_notices, *file_notices(other_notes)]


def _shortened_text(entry: SectionReport, note: ContextFileNote | None) -> str:
    total = 0 if note is None else note.total_characters
    size = f"{entry.characters:,} of {total:,} characters" if total else entry.reason
    return f"{LABELS.get(entry.name, entry.source or entry.name)} ({size})"


def file_notices(notes: Sequence[ContextFileNote]) -> list[str]:
    """Return a sentence for each file that the model sees only in part or not at all."""
    return [
        *(_file_notice(note) for note in notes if note.outcome in REPORTED_OUTCOMES),
        *(_mark_notice(note) for note in notes if note.is_marked),
    ]


def _mark_notice(note: ContextFileNote) -> str:
    return (
        f"{note.path} reads like an attempt to change the agent's rules ({_matches(note)}). The "
        f"model was told not to follow that part; to allow exactly this text, run "
        f"`acp-server context trust {note.path}`"
    )


def _matches(note: ContextFileNote) -> str:
    return ", ".join(f"{each.pattern} in line {each.line}" for each in note.findings[:3])


def _file_notice(note: ContextFileNote) -> str:
    match note.outcome:
        case "cut":
            kept, total = note.kept_characters, note.total_characters
            return f"{note.path} is long: {kept:,} of its {total:,} characters are shown"
        case "blocked":
            matches = _matches(note)
            remedy = f"to allow exactly this text, run `acp-server context trust {note.path}`"
            return f"{note.path} is hidden from the model: {matches}; {remedy}"
        case _:
            return f"{note.path} cannot be used: {note.reason or note.outcome}"


def format_row(entry: SectionReport) -> str:
    """Return a prompt section as a Markdown table row."""
    fate = "" if entry.fate == "kept" else f"{entry.fate}: {entry.reason}".rstrip(": ")
    size = f"{entry.characters:,} | {entry.estimated_tokens:,}"
    return f"| {entry.name} | {entry.source} | {size} | {fate} |"
