"""Characters that are invisible to a reader but not to a model.

Some are legitimate: joiners hold emoji together and shape the letters of many scripts, and the
zero-width space divides words in scripts without spaces (Thai, Lao, Burmese, Khmer) and keeps a
code fence within a code fence from ending it; generators of documents put one into the link of a
heading to itself. Those, a byte order mark at the very start, the tags
of a flag emoji and an example that is named next to it are no finding.
"""

import re
from collections.abc import Iterator

PATTERN_ID = "invisible-character"

_HIDDEN = r"\u200b-\u200d\u2060\u2062-\u2064\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"
_JOINED_SCRIPTS = (
    r"\u0600-\u086f\u08a0-\u08ff"  # Arabic, Syriac, N'Ko, Mandaic
    r"\u0900-\u0dff"  # the scripts of India and Sri Lanka
    r"\u0f00-\u109f\u1780-\u18af\u1a20-\u1b7f\ua840-\ua87f\ua8e0-\ua8ff\ua980-\ua9df"
    r"\ufb50-\ufdff\ufe70-\ufefc"  # Arabic presentation forms
)
_UNSPACED_SCRIPTS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f"
_VIRAMAS = r"\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_PICTOGRAPHS = (
    r"\u00a9\u00ae\u203c-\u2049\u2122-\u21aa\u231a-\u23ff\u25aa-\u27bf\u2934-\u2b55"
    r"\U0001f000-\U0001faff"
)
_HIDDEN_CHARACTER = re.compile(
    rf"[{_HIDDEN}]"
    rf"(?<![{_JOINED_SCRIPTS}][\u200c\u200d](?=[{_JOINED_SCRIPTS}]))"
    rf"(?<![{_UNSPACED_SCRIPTS}]\u200b(?=[{_UNSPACED_SCRIPTS}]))"
    r"(?<!\n\u200b(?=```))(?<!\[\u200b(?=\]\(#))"
    rf"(?<![{_VIRAMAS}][\u200c\u200d])"
    rf"(?<![{_PICTOGRAPHS}\ufe0f]\u200d(?=[{_PICTOGRAPHS}]))"
)
_ANY_HIDDEN = re.compile(rf"[{_HIDDEN}]")
_NAME = re.compile(r"zero.width|\bU\+(?:20[026]|FEFF)|\\u(?:20[026]|feff)|\bword joiner\b", re.I)
_NAME_DISTANCE = 120
"""Maximum distance, in characters, between a hidden character and its name."""
_FLAG = re.compile(r"\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")


def find_hidden_characters(text: str) -> Iterator[int]:
    """Yield the offsets of hidden characters."""
    if text.isascii():
        return iter(())
    masked = _FLAG.sub(lambda flag: "-" * len(flag[0]), text)
    start = 1 if masked.startswith("\ufeff") else 0
    return (
        found.start()
        for found in _HIDDEN_CHARACTER.finditer(masked, start)
        if not _is_named(masked, found.start())
    )


def _is_named(text: str, offset: int) -> bool:
    """Return whether a character is the example of a text that says what it shows.

    It is the only hidden one around: a hidden message needs more.
    """
    surroundings = text[max(0, offset - _NAME_DISTANCE) : offset + _NAME_DISTANCE]
    is_alone = len(_ANY_HIDDEN.findall(surroundings)) == 1
    return is_alone and _NAME.search(surroundings) is not None
