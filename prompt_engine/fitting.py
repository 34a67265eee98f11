"""Fits a prompt into a small context window: cuts the texts that came from files. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from prompt_engine.section import SECTION_SEPARATOR, PromptSection
from prompt_engine.truncation import truncate

PROMPT_SHARE = 0.25
"""The largest share of a known context window that the system prompt takes."""
CHARACTERS_PER_TOKEN = 3
MIN_CHARACTERS = 200
"""A text is not cut to less, whatever the window: less would tell the model nothing."""
CUTTABLE_SECTIONS = frozenset(
    {"context_file", "skills_index", "memory", "user", "external_memory", "soul"}
)


def prompt_character_limit(window_tokens: int | None) -> int | None:
    """Return the largest length of a prompt; None without a known window.

    >>> prompt_character_limit(8_000), prompt_character_limit(200_000)
    (6000, 150000)
    """
    if window_tokens is None:
        return None
    return int(window_tokens * PROMPT_SHARE) * CHARACTERS_PER_TOKEN


def fit_sections(
    sections: Sequence[PromptSection], max_characters: int | None
) -> list[PromptSection]:
    """Return the sections, their longest texts cut so that all together fit."""
    total = sum(len(each.text) + len(SECTION_SEPARATOR) for each in sections if each.text)
    if max_characters is None or total <= max_characters:
        return list(sections)
    lengths = sorted(len(each.text) for each in sections if each.name in CUTTABLE_SECTIONS)
    room, limit = max_characters - (total - sum(lengths)), 0
    # Short texts stay whole; what they leave is shared by the longer ones.
    for number, length in enumerate(lengths):
        limit = room // (len(lengths) - number)
        if length > limit:
            break
        room -= length
    limit = max(limit, MIN_CHARACTERS)
    return [_cut(each, limit) if each.name in CUTTABLE_SECTIONS else each for each in sections]


def _cut(section: PromptSection, limit: int) -> PromptSection:
    cut = truncate(section.text, limit, section.source or section.name)
    if not cut.is_cut:
        return section
    kept, total = cut.kept_characters, cut.total_characters
    reason = f"{kept:,} of {total:,} characters"
    return replace(section, text=cut.text, fate="shortened", reason=reason)
