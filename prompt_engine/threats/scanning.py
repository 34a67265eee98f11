"""Scans a text for threats, in time linear in its length.

The text is undisguised and folded once; then each pattern group runs over it once. Findings in
base64 are reported where the base64 run starts. Patterns are known by id only.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from prompt_engine.findings import Finding, Scope
from prompt_engine.threats import hosts, invisible
from prompt_engine.threats.catalogue import Group, Pattern, groups
from prompt_engine.threats.disguises import undisguised
from prompt_engine.threats.encodings import decoded
from prompt_engine.threats.folding import FoldedText
from prompt_engine.threats.mentions import is_mention
from prompt_engine.threats.spans import Span

MAX_PLACES = 50
"""Maximum locations reported per pattern group; the text is blocked in any case."""
MAX_EXCUSES = 500
"""Maximum matches per group that are checked for an exemption; later ones count unchecked. Bounds
the time for hostile texts.
"""

Place = tuple[int, str, Scope]
_LEADING = " \t\n\r.!?:;,\"'`*_|&"
_LEADING_CHARACTERS = 80


def scan(text: str, scope: Scope) -> tuple[Finding, ...]:
    """Return the findings in text order; empty if the text is clean.

    Never raises, for any text. Lines end with a line feed; columns count characters.
    """
    hidden = islice(invisible.hidden_places(text), MAX_PLACES)
    found: set[Place] = {(at, invisible.PATTERN, "all") for at in hidden}
    found.update(_places(text, scope))
    found.update(_encoded_places(text, scope))
    return tuple(_findings(text, sorted(found)))


def _places(text: str, scope: Scope) -> Iterator[Place]:
    folded = FoldedText(undisguised(text))
    for group in groups(scope, with_scripts=not folded.data.isascii()):
        yield from islice(_matches(group, folded, text, scope), MAX_PLACES)


def _encoded_places(text: str, scope: Scope) -> Iterator[Place]:
    """Locate findings from base64 at the start of their base64 run."""
    said = decoded(text)
    if said is not None:
        for at, pattern, least in _places(said.text, scope):
            yield said.origin(at), pattern, least


def _matches(group: Group, folded: FoldedText, text: str, scope: Scope) -> Iterator[Place]:
    excuses_left = MAX_EXCUSES
    for match in group.expression.finditer(folded.data):
        pattern, begin = group.attribute(match, folded.data)
        start = _first_word(text, folded.origin(begin))
        span = Span(text, start, max(start, folded.origin(match.end())))
        if excuses_left:
            excuses_left -= 1
            if _is_excused(pattern, span, scope):
                continue
        yield span.start, pattern.id, pattern.scope


def _first_word(text: str, at: int) -> int:
    """Skip punctuation that a pattern matches before its first word to detect a sentence start."""
    ahead = text[at : at + _LEADING_CHARACTERS]
    return at + len(ahead) - len(ahead.lstrip(_LEADING))


def _is_excused(pattern: Pattern, span: Span, scope: Scope) -> bool:
    """Return whether a match is harmless: a mention, or a key sent to its own provider.

    Agent memory (`strict`) has no reason to quote attacks: there, only the host check can exempt.
    """
    if pattern.id in hosts.PATTERNS and hosts.goes_home(span):
        return True
    return scope != "strict" and is_mention(span)


def _findings(text: str, places: Sequence[Place]) -> Iterator[Finding]:
    """Convert offsets, sorted, to lines and columns."""
    line, counted = 1, 0
    for at, pattern, scope in places:
        line, counted = line + text.count("\n", counted, at), at
        yield Finding(pattern, scope, line, at - text.rfind("\n", 0, at))
