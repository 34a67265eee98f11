"""Which skills a curator may merge or put away, and which of them look as if they should be.

Counters of use say nothing here: what a skill holds decides, and that is for a model to read.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skills_store.ownership import owner_of, read_claims

if TYPE_CHECKING:
    from skills_store.manage import Keeper

_WORD = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_NARROW = (
    (re.compile(r"\b(pr|issue|ticket|bug)-?\d+"), "names a ticket"),
    (re.compile(r"\b20\d\d(-|\b)"), "names a date"),
    (re.compile(r"^(fix|fixing|debug|debugging|audit|auditing|investigate)-"), "tells one story"),
    (re.compile(r"(error|exception|traceback|failure)s?\b"), "names an error"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b"), "names a commit"),
    (re.compile(r"\bv?\d+-\d+(-\d+)?\b"), "names a version"),
)
"""What a name holds that stands for one case rather than for a class of them."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill that a curator may touch."""

    name: str
    description: str
    category: str


@dataclass(frozen=True, slots=True)
class Hints:
    """What stands out among the names of candidates: a beginning, not a verdict."""

    clusters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names that begin with the same word: the word, and two names or more."""
    narrow: tuple[tuple[str, str], ...] = ()
    """Names that seem to stand for one case, and why, in half a sentence."""

    def __bool__(self) -> bool:
        return bool(self.clusters or self.narrow)


def find_candidates(keeper: "Keeper") -> tuple[Candidate, ...]:
    """Return the skills of a home that an agent made and nobody has pinned, by name. Blocks."""
    claims = read_claims(keeper.home)
    found = (
        Candidate(skill.name, skill.description, skill.category)
        for skill in keeper.holdings.look()
        if owner_of(skill, claims, keeper.usage) == "agent"
        and not keeper.usage.is_pinned(skill.name)
    )
    return tuple(sorted(found, key=lambda each: (each.name, each.category)))


def hints_on(names: Iterable[str]) -> Hints:
    """Return what stands out among names.

    >>> hints_on(["pdf-read", "pdf-write", "release"]).clusters
    (('pdf', ('pdf-read', 'pdf-write')),)
    >>> hints_on(["fix-login", "release"]).narrow
    (('fix-login', 'tells one story'),)
    """
    ordered = sorted(set(names))
    by_word: dict[str, list[str]] = {}
    for name in ordered:
        word = _WORD.search(name)
        if word is not None:
            by_word.setdefault(word[0].lower(), []).append(name)
    clusters = ((word, tuple(group)) for word, group in by_word.items() if len(group) > 1)
    narrow = ((name, why) for name in ordered if (why := _why_narrow(name)) is not None)
    return Hints(tuple(clusters), tuple(narrow))


def _why_narrow(name: str) -> str | None:
    return next((why for pattern, why in _NARROW if pattern.search(name.lower())), None)
