"""Scans a text for threats, in time linear in its length.

The text is undisguised and folded once; then each pattern group runs over it once. Findings in
base64 are reported where the base64 run starts. Patterns are known by id only.
"""

from collections.abc import Iterator
from itertools import islice

from prompt_engine.findings import ScanScope, ThreatFinding
from prompt_engine.threats import exemptions, invisible
from prompt_engine.threats.catalogue import PatternGroup, ThreatPattern, pattern_groups
from prompt_engine.threats.disguises import undo_disguises
from prompt_engine.threats.encodings import decode_base64
from prompt_engine.threats.folding import AsciiView, FoldedText
from prompt_engine.threats.mentions import is_ambiguous, is_description, is_mention
from prompt_engine.threats.spans import TextSpan
from prompt_engine.threats.spelled_words import restore_spelled_words
from prompt_engine.threats.stored_tables import TextSequences, stored_tables

MAX_LOCATIONS = 50
"""Maximum locations reported per pattern group; the text is blocked in any case."""
MAX_EXEMPTION_CHECKS = 500
"""Maximum matches per group that are checked for an exemption; later ones count unchecked. Bounds
the time for hostile texts.
"""

MAX_REDUCED_BYTES = 16_384
"""Longest text for which only the wordings are compiled that can match it."""

ThreatLocation = tuple[int, str, ScanScope]
_LEADING = " \t\n\r.!?:;,\"'`*_|&"
_LEADING_CHARACTERS = 80


def scan(text: str, scope: ScanScope) -> tuple[ThreatFinding, ...]:
    """Return the findings in text order; empty if the text is clean.

    Never raises, for any text. Lines end with a line feed; columns count characters.
    """
    hidden_offsets = islice(invisible.find_hidden_characters(text), MAX_LOCATIONS)
    found: set[ThreatLocation] = {
        (offset, invisible.PATTERN_ID, "all") for offset in hidden_offsets
    }
    found.update(_find_locations(text, scope))
    if (decoded := decode_base64(text)) is not None:
        for offset, pattern, pattern_scope in _find_locations(decoded.text, scope):
            origin = decoded.origin(offset)
            if scope == "strict" or not is_mention(TextSpan(text, origin, origin)):
                found.add((origin, pattern, pattern_scope))
    findings: list[ThreatFinding] = []
    line, counted_offset = 1, 0
    for offset, pattern, pattern_scope in sorted(found):
        line, counted_offset = line + text.count("\n", counted_offset, offset), offset
        column = offset - text.rfind("\n", 0, offset)
        findings.append(ThreatFinding(pattern, pattern_scope, line, column))
    return tuple(findings)


def _find_locations(text: str, scope: ScanScope) -> Iterator[ThreatLocation]:
    folded = FoldedText(undo_disguises(text))
    restored = restore_spelled_words(folded.data)
    if restored != folded.data:
        folded.set_data(restored)
    is_ascii = folded.data.isascii()
    ascii_view = folded if is_ascii else AsciiView(folded)
    sequences = {id(view): _sequences(view.data) for view in (folded, ascii_view)}
    for group in pattern_groups(scope, with_scripts=not is_ascii):
        view = ascii_view if group.has_only_ascii else folded
        part = group.for_text(sequences[id(view)])
        if part is not None:
            yield from islice(_group_locations(text, scope, view, part), MAX_LOCATIONS)


def _sequences(data: bytes) -> TextSequences | None:
    """Return the sequences of a text; None if all wordings are to be tried on it."""
    stored = stored_tables()
    is_short = len(data) <= MAX_REDUCED_BYTES
    return TextSequences(data, stored) if is_short and stored is not None else None


def _group_locations(
    text: str, scope: ScanScope, view: FoldedText | AsciiView, group: PatternGroup
) -> Iterator[ThreatLocation]:
    def first_word(start: int) -> int:
        """Return the offset of a match, without the punctuation by which it begins a sentence."""
        offset = view.origin(start)
        leading = text[offset : offset + _LEADING_CHARACTERS]
        return offset + len(leading) - len(leading.lstrip(_LEADING))

    def is_exempt(pattern: ThreatPattern, start: int, end: int) -> bool:
        first = first_word(start)
        span = TextSpan(text, first, max(first, view.origin(end)))
        is_checked = pattern.id in exemptions.HOST_CHECKED_PATTERNS
        if is_checked and exemptions.sends_only_to_key_owner(span):
            return True
        if pattern.id == "print-secret-file" and exemptions.hides_values_of_env(span):
            return True
        # Agent memory has no reason to quote attacks.
        if scope == "strict":
            return False
        return is_mention(span) or (pattern.scope == "mark" and is_description(span))

    for count, (pattern, start, end) in enumerate(
        group.matches(view.data, is_exempt, MAX_EXEMPTION_CHECKS)
    ):
        first = first_word(start)
        span = TextSpan(text, first, max(first, view.origin(end)))
        if scope == "strict" or count >= MAX_EXEMPTION_CHECKS or not is_ambiguous(span):
            yield first, pattern.id, pattern.scope
        elif scope == "mark":
            yield first, pattern.id, "mark"
