"""What a prompt is made of, and what was left out of it, for whoever wants to know.

Lists every section in the order of the prompt, also those that have no text in it. Decides
nothing: the fates were decided where the texts were read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from pydantic import JsonValue, TypeAdapter, ValidationError

from prompt_engine.facts import Fate
from prompt_engine.section import JOINT, Section, Tier


@dataclass(frozen=True, slots=True)
class Entry:
    """One section: what it is called, how much of the prompt it takes, and what became of it."""

    name: str
    tier: Tier
    source: str
    characters: int
    estimated_tokens: int
    fate: Fate
    reason: str

    @property
    def notice(self) -> str:
        """A sentence for the user; empty when the text is there as it was written.

        What is `absent` has one too; whether that is worth saying depends on what is missing.

        >>> Entry("soul", "stable", "SOUL.md", 0, 0, "blocked", "hides-from-user in line 3").notice
        'SOUL.md was blocked: hides-from-user in line 3'
        """
        if self.fate == "kept":
            return ""
        what = self.source or self.name
        said = what if self.fate == "absent" else f"{what} was {self.fate}"
        return f"{said}: {self.reason}" if self.reason else said


_FIELDS = tuple(field.name for field in fields(Entry))


@dataclass(frozen=True, slots=True)
class Report:
    """The sections of a prompt. Their characters and the joints make up the whole prompt."""

    entries: tuple[Entry, ...]

    @property
    def characters(self) -> int:
        """The length of the prompt."""
        lengths = [entry.characters for entry in self.entries if entry.characters]
        return sum(lengths) + len(JOINT) * max(0, len(lengths) - 1)

    @property
    def estimated_tokens(self) -> int:
        """About how many tokens the sections take, rather too many than too few."""
        return sum(entry.estimated_tokens for entry in self.entries)

    def as_json(self) -> dict[str, JsonValue]:
        """Return totals and sections as JSON; keys are the fields' names."""
        return {
            "characters": self.characters,
            "estimated_tokens": self.estimated_tokens,
            "sections": [{name: getattr(each, name) for name in _FIELDS} for each in self.entries],
        }


def report_from(value: JsonValue) -> Report | None:
    """Return the report that `as_json` wrote; None if it is none.

    >>> report_from(Report(()).as_json())
    Report(entries=())
    """
    sections = value.get("sections") if isinstance(value, dict) else None
    try:
        return Report(TypeAdapter(tuple[Entry, ...]).validate_python(sections))
    except ValidationError:
        return None


def report_on(sections: Sequence[Section]) -> Report:
    """Return the report on sections whose texts are stripped already."""
    return Report(tuple(_entry(section) for section in sections))


def estimate_tokens(text: str) -> int:
    """Guess, rather too high than too low: the text's UTF-8 bytes / 2.5.

    >>> estimate_tokens("Be kind.")
    4
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) * 2 // 5)


def _entry(section: Section) -> Entry:
    return Entry(
        section.name,
        section.tier,
        section.source,
        len(section.text),
        estimate_tokens(section.text),
        section.fate,
        section.reason,
    )
