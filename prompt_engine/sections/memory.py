"""Agent notes and user profile from memory, frozen for the session."""

from collections.abc import Iterator

from prompt_engine.facts import Facts, MemoryStore
from prompt_engine.memory_entries import joined
from prompt_engine.section import Section

BAR = "═" * 46
NOTES = "MEMORY (your personal notes)"
PROFILE = "USER PROFILE (who the user is)"


def write(facts: Facts) -> Iterator[Section]:
    """Yield both stores, notes first; a store without entries gives a section without text."""
    for name, title, store in (("memory", NOTES, facts.memory), ("user", PROFILE, facts.user)):
        if store is not None:
            text = block(title, store) if store.entries else ""
            yield Section(name, "volatile", text, store.source, store.fate, store.reason)


def block(title: str, store: MemoryStore) -> str:
    """Return a store as the model sees it.

    >>> print(block("USER", MemoryStore(("Name: Ada", "Likes tests"), 23, 1_375)))
    ══════════════════════════════════════════════
    USER [1% — 23/1,375 chars]
    ══════════════════════════════════════════════
    Name: Ada
    §
    Likes tests
    """
    used, limit = store.used_characters, store.limit_characters
    share = 100 * used // limit if limit else 100
    header = f"{title} [{share}% — {used:,}/{limit:,} chars]"
    return "\n".join((BAR, header, BAR, joined(store.entries)))
