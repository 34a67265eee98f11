"""Project instructions, each under its path. `setting_sources.context_files` selects the files."""

from collections.abc import Iterator, Mapping

from prompt_engine.context_file_types import ContextFileNote, ContextFileOutcome
from prompt_engine.facts import Fate, PromptFacts
from prompt_engine.section import PromptSection
from prompt_engine.sections.identity import SKIPPED_REASON
from prompt_engine.sections.text_files import load_text
from prompt_engine.trust import describe_findings

SECTION_NAME = "context_file"

FATE_BY_OUTCOME: Mapping[ContextFileOutcome, Fate] = {
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


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield a heading and the files in the given order, then the outcomes of the other files."""
    if facts.identity.skips_context_files:
        for file in facts.context_files:
            yield PromptSection(SECTION_NAME, "context", "", file.path, "dropped", SKIPPED_REASON)
        return
    if facts.context_files:
        yield PromptSection("project_context", "context", load_text("project_context"))
    notes = {note.path: note for note in facts.context_notes}
    for file in facts.context_files:
        # Without a note, its length tells whether it was cut.
        outcome = "cut" if file.total_characters > len(file.text) else "loaded"
        default = ContextFileNote(file.path, outcome, file.total_characters, len(file.text))
        text = f"## {file.path}\n\n{file.text.strip()}"
        yield _section(notes.pop(file.path, default), text)
    for note in notes.values():
        yield _section(note)


def _section(note: ContextFileNote, text: str = "") -> PromptSection:
    return PromptSection(
        SECTION_NAME, "context", text, note.path, FATE_BY_OUTCOME[note.outcome], _reason(note)
    )


def _reason(note: ContextFileNote) -> str:
    if note.outcome == "loaded" or note.reason:
        return note.reason
    if note.outcome == "cut":
        kept, total = note.kept_characters, note.total_characters
        return f"{kept:,} of {total:,} characters are shown"
    if note.findings:
        return describe_findings(note.findings)
    return note.outcome
