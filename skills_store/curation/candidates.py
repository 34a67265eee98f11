"""Find skills that a curator may merge or archive, and hints for likely ones.

Usage counters play no role: the content decides, and the model reads it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skills_store.ownership import owner_of, read_installed_names

if TYPE_CHECKING:
    from skills_store.editor import SkillEditor

_WORD = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_NARROW_NAMES = (
    (re.compile(r"\b(pr|issue|ticket|bug)-?\d+"), "names a ticket"),
    (re.compile(r"\b20\d\d(-|\b)"), "names a date"),
    (re.compile(r"^(fix|fixing|debug|debugging|audit|auditing|investigate)-"), "tells one story"),
    (re.compile(r"(error|exception|traceback|failure)s?\b"), "names an error"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b"), "names a commit"),
    (re.compile(r"\bv?\d+-\d+(-\d+)?\b"), "names a version"),
)
"""Patterns of names that describe a single case rather than a class of tasks, with the reason."""


@dataclass(frozen=True, slots=True)
class CurationCandidate:
    """A skill that a curator may change."""

    name: str
    description: str
    category: str


@dataclass(frozen=True, slots=True)
class NameHints:
    """Conspicuous names among candidates: a starting point, not a decision."""

    clusters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names that begin with the same word: the word, and at least two names."""
    narrow: tuple[tuple[str, str], ...] = ()
    """Names that seem to describe a single case, each with the reason as half a sentence."""

    def __bool__(self) -> bool:
        return bool(self.clusters or self.narrow)


def find_candidates(editor: "SkillEditor") -> tuple[CurationCandidate, ...]:
    """Return the skills made by an agent and not pinned, by name. Blocks."""
    installed = read_installed_names(editor.home)
    found = (
        CurationCandidate(skill.name, skill.description, skill.category)
        for skill in editor.catalog.list_skills()
        if owner_of(skill, installed, editor.usage) == "agent"
        and not editor.usage.is_pinned(skill.name)
    )
    return tuple(sorted(found, key=lambda each: (each.name, each.category)))


def find_name_hints(names: Iterable[str]) -> NameHints:
    """Return hints found in names.

    >>> find_name_hints(["pdf-read", "pdf-write", "release"]).clusters
    (('pdf', ('pdf-read', 'pdf-write')),)
    >>> find_name_hints(["fix-login", "release"]).narrow
    (('fix-login', 'tells one story'),)
    """
    ordered = sorted(set(names))
    by_word: dict[str, list[str]] = {}
    for name in ordered:
        word = _WORD.search(name)
        if word is not None:
            by_word.setdefault(word[0].lower(), []).append(name)
    clusters = ((word, tuple(group)) for word, group in by_word.items() if len(group) > 1)
    narrow: dict[str, str] = {}
    for name in ordered:
        for pattern, reason in _NARROW_NAMES:
            if pattern.search(name.lower()):
                narrow.setdefault(name, reason)
    return NameHints(tuple(clusters), tuple(narrow.items()))
