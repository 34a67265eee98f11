"""Scans a text for threats, in time linear in its length.

The text is undisguised and folded once; then each pattern group runs over it once. Findings in
base64 are reported where the base64 run starts. Patterns are known by id only.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from prompt_engine.findings import ScanScope, ThreatFinding
from prompt_engine.threats import hosts, invisible
from prompt_engine.threats.catalogue import PatternGroup, ThreatPattern, pattern_groups
from prompt_engine.threats.disguises import undo_disguises
from prompt_engine.threats.encodings import decode_base64
from prompt_engine.threats.folding import FoldedText
from prompt_engine.threats.mentions import is_mention
from prompt_engine.threats.spans import TextSpan

MAX_LOCATIONS = 50
"""Maximum locations reported per pattern group; the text is blocked in any case."""
MAX_EXEMPTION_CHECKS = 500
"""Maximum matches per group that are checked for an exemption; later ones count unchecked. Bounds
the time for hostile texts.
"""

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
    found.update(_find_encoded_locations(text, scope))
    return tuple(_findings(text, sorted(found)))


def _find_locations(text: str, scope: ScanScope) -> Iterator[ThreatLocation]:
    folded = FoldedText(undo_disguises(text))
    for group in pattern_groups(scope, with_scripts=not folded.data.isascii()):
        yield from islice(_matches(group, folded, text, scope), MAX_LOCATIONS)


def _find_encoded_locations(text: str, scope: ScanScope) -> Iterator[ThreatLocation]:
    """Locate findings from base64 at the start of their base64 run."""
    decoded = decode_base64(text)
    if decoded is not None:
        for offset, pattern, pattern_scope in _find_locations(decoded.text, scope):
            yield decoded.origin(offset), pattern, pattern_scope


def _matches(
    group: PatternGroup, folded: FoldedText, text: str, scope: ScanScope
) -> Iterator[ThreatLocation]:
    remaining_checks = MAX_EXEMPTION_CHECKS
    for match in group.expression.finditer(folded.data):
        pattern, start_byte = group.identify(match, folded.data)
        start = _first_word(text, folded.origin(start_byte))
        span = TextSpan(text, start, max(start, folded.origin(match.end())))
        if remaining_checks:
            remaining_checks -= 1
            if _is_exempt(pattern, span, scope):
                continue
        yield span.start, pattern.id, pattern.scope


def _first_word(text: str, offset: int) -> int:
    """Skip punctuation that a pattern matches before its first word to detect a sentence start."""
    leading = text[offset : offset + _LEADING_CHARACTERS]
    return offset + len(leading) - len(leading.lstrip(_LEADING))


def _is_exempt(pattern: ThreatPattern, span: TextSpan, scope: ScanScope) -> bool:
    """Return whether a match is harmless: a mention, or a key sent to its own provider.

    Agent memory (`strict`) has no reason to quote attacks: there, only the host check can exempt.
    """
    if pattern.id in hosts.HOST_CHECKED_PATTERNS and hosts.sends_only_to_key_owner(span):
        return True
    return scope != "strict" and is_mention(span)


def _findings(text: str, locations: Sequence[ThreatLocation]) -> Iterator[ThreatFinding]:
    """Convert offsets, sorted, to lines and columns."""
    line, counted_offset = 1, 0
    for offset, pattern, scope in locations:
        line, counted_offset = line + text.count("\n", counted_offset, offset), offset
        yield ThreatFinding(pattern, scope, line, offset - text.rfind("\n", 0, offset))
