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
    hidden = islice(invisible.find_hidden_characters(text), MAX_LOCATIONS)
    found: set[ThreatLocation] = {(at, invisible.PATTERN_ID, "all") for at in hidden}
    found.update(_find_locations(text, scope))
    found.update(_find_encoded_locations(text, scope))
    return tuple(_findings(text, sorted(found)))


def _find_locations(text: str, scope: ScanScope) -> Iterator[ThreatLocation]:
    folded = FoldedText(undo_disguises(text))
    for group in pattern_groups(scope, with_scripts=not folded.data.isascii()):
        yield from islice(_matches(group, folded, text, scope), MAX_LOCATIONS)


def _find_encoded_locations(text: str, scope: ScanScope) -> Iterator[ThreatLocation]:
    """Locate findings from base64 at the start of their base64 run."""
    said = decode_base64(text)
    if said is not None:
        for at, pattern, least in _find_locations(said.text, scope):
            yield said.origin(at), pattern, least


def _matches(
    group: PatternGroup, folded: FoldedText, text: str, scope: ScanScope
) -> Iterator[ThreatLocation]:
    excuses_left = MAX_EXEMPTION_CHECKS
    for match in group.expression.finditer(folded.data):
        pattern, begin = group.identify(match, folded.data)
        start = _first_word(text, folded.origin(begin))
        span = TextSpan(text, start, max(start, folded.origin(match.end())))
        if excuses_left:
            excuses_left -= 1
            if _is_exempt(pattern, span, scope):
                continue
        yield span.start, pattern.id, pattern.scope


def _first_word(text: str, at: int) -> int:
    """Skip punctuation that a pattern matches before its first word to detect a sentence start."""
    ahead = text[at : at + _LEADING_CHARACTERS]
    return at + len(ahead) - len(ahead.lstrip(_LEADING))


def _is_exempt(pattern: ThreatPattern, span: TextSpan, scope: ScanScope) -> bool:
    """Return whether a match is harmless: a mention, or a key sent to its own provider.

    Agent memory (`strict`) has no reason to quote attacks: there, only the host check can exempt.
    """
    if pattern.id in hosts.HOST_CHECKED_PATTERNS and hosts.sends_only_to_key_owner(span):
        return True
    return scope != "strict" and is_mention(span)


def _findings(text: str, places: Sequence[ThreatLocation]) -> Iterator[ThreatFinding]:
    """Convert offsets, sorted, to lines and columns."""
    line, counted = 1, 0
    for at, pattern, scope in places:
        line, counted = line + text.count("\n", counted, at), at
        yield ThreatFinding(pattern, scope, line, at - text.rfind("\n", 0, at))
