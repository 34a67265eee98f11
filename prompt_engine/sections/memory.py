"""Agent notes and user profile from memory, frozen for the session."""

from collections.abc import Iterator

from prompt_engine.facts import MemorySnapshot, PromptFacts
from prompt_engine.memory_entries import join_entries
from prompt_engine.section import PromptSection

SEPARATOR_BAR = "═" * 46
NOTES_TITLE = "MEMORY (your personal notes)"
PROFILE_TITLE = "USER PROFILE (who the user is)"


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield both stores, notes first; a store without entries gives a section without text."""
    for name, title, store in (
        ("memory", NOTES_TITLE, facts.memory),
        ("user", PROFILE_TITLE, facts.user),
    ):
        if store is not None:
            text = format_store(title, store) if store.entries else ""
            yield PromptSection(name, "volatile", text, store.source, store.fate, store.reason)


def format_store(title: str, store: MemorySnapshot) -> str:
    """Return a store as the model sees it.

    >>> print(format_store("USER", MemorySnapshot(("Name: Ada", "Likes tests"), 23, 1_375)))
    ══════════════════════════════════════════════
    USER [1% — 23/1,375 chars]
    ══════════════════════════════════════════════
    Name: Ada
    §
    Likes tests
    """
    used, limit = store.used_characters, store.limit_characters
    percent = 100 * used // limit if limit else 100
    header = f"{title} [{percent}% — {used:,}/{limit:,} chars]"
    return "\n".join((SEPARATOR_BAR, header, SEPARATOR_BAR, join_entries(store.entries)))
