"""Report on the sections of a prompt, including omitted ones.

Lists every section in prompt order, also those without text. Decides nothing: outcomes were
determined where the texts were read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from pydantic import JsonValue, TypeAdapter, ValidationError

from prompt_engine.facts import Fate
from prompt_engine.section import SECTION_SEPARATOR, PromptSection, Tier


@dataclass(frozen=True, slots=True)
class SectionReport:
    """Report on one section: its name, its size in the prompt, and its outcome."""

    name: str
    tier: Tier
    source: str
    characters: int
    estimated_tokens: int
    fate: Fate
    reason: str

    @property
    def notice(self) -> str:
        """Sentence for the user; empty if the text is included unchanged.

        An `absent` text has a notice too; the caller decides whether it is worth showing.

        >>> reason = "hides-from-user in line 3"
        >>> SectionReport("soul", "stable", "SOUL.md", 0, 0, "blocked", reason).notice
        'SOUL.md was blocked: hides-from-user in line 3'
        """
        if self.fate == "kept":
            return ""
        label = self.source or self.name
        statement = label if self.fate == "absent" else f"{label} was {self.fate}"
        return f"{statement}: {self.reason}" if self.reason else statement


_REPORT_FIELDS = tuple(field.name for field in fields(SectionReport))


@dataclass(frozen=True, slots=True)
class PromptReport:
    """Sections of a prompt. Their characters plus the separators add up to the prompt's length."""

    entries: tuple[SectionReport, ...]

    @property
    def characters(self) -> int:
        """Length of the prompt."""
        lengths = [entry.characters for entry in self.entries if entry.characters]
        return sum(lengths) + len(SECTION_SEPARATOR) * max(0, len(lengths) - 1)

    @property
    def estimated_tokens(self) -> int:
        """Estimated tokens of all sections, rounded towards too many."""
        return sum(entry.estimated_tokens for entry in self.entries)

    def as_json(self) -> dict[str, JsonValue]:
        """Return totals and sections as JSON; the keys are the field names."""
        return {
            "characters": self.characters,
            "estimated_tokens": self.estimated_tokens,
            "sections": [
                {name: getattr(each, name) for name in _REPORT_FIELDS} for each in self.entries
            ],
        }


def parse_report(value: JsonValue) -> PromptReport | None:
    """Parse the JSON that `as_json` wrote; return None if it is not a report.

    >>> parse_report(PromptReport(()).as_json())
    PromptReport(entries=())
    """
    sections = value.get("sections") if isinstance(value, dict) else None
    try:
        return PromptReport(TypeAdapter(tuple[SectionReport, ...]).validate_python(sections))
    except ValidationError:
        return None


def build_report(sections: Sequence[PromptSection]) -> PromptReport:
    """Return the report on sections whose texts are already stripped."""
    return PromptReport(
        tuple(
            SectionReport(
                section.name,
                section.tier,
                section.source,
                len(section.text),
                estimate_tokens(section.text),
                section.fate,
                section.reason,
            )
            for section in sections
        )
    )


def estimate_tokens(text: str) -> int:
    """Estimate tokens, rather too high than too low: UTF-8 bytes / 2.5.

    >>> estimate_tokens("Be kind.")
    4
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) * 2 // 5)
