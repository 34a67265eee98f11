"""Check a command's characters: reject invisible characters and look-alikes.

Independent of shell syntax. A text that fails here is not analysed further.
"""

import re
import unicodedata
from functools import lru_cache

from acp_server.permissions import reasons

MAX_BYTES = 64 * 1024

# Tab and newline are allowed. Others could hide text from the user in a terminal, and NUL would end
# the command early.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Invisible, although their categories are those of visible accents, letters and symbols: the
# remaining "default ignorable" code points of Unicode, and the blank of Braille.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
_LETTERS = re.compile(r"[^\W\d_]+")


def find_character_fault(command: str) -> str | None:
    """Return as a sentence why a text is rejected; None if it is acceptable."""
    if len(command) > MAX_BYTES or len(command.encode("utf-8", "replace")) > MAX_BYTES:
        return reasons.TOO_LONG
    if _CONTROL.search(command):
        return reasons.CONTROL_CHARACTERS
    return None if command.isascii() else _find_unicode_fault(command)


def _find_unicode_fault(command: str) -> str | None:
    for character in set(command):
        if not character.isascii() and (
            _INVISIBLE.match(character) or unicodedata.category(character) in _INVISIBLE_CATEGORIES
        ):
            return reasons.INVISIBLE_CHARACTERS
        # Security: a full-width or ligature form looks like the ASCII character, but bash and the
        # file system take it for another one.
        if unicodedata.normalize("NFKC", character) != character:
            return reasons.LOOK_ALIKES
    words = (word for word in _LETTERS.findall(command) if not word.isascii())
    if any(len(set(map(_script_name, word))) > 1 for word in words):
        return reasons.MIXED_SCRIPTS
    return None


@lru_cache(maxsize=1024)
def _script_name(character: str) -> str:
    """Return the first word of a letter's Unicode name: LATIN, CYRILLIC, GREEK and so on."""
    return unicodedata.name(character, "UNNAMED").split()[0]
