"""Finds facts in what was said: statements, the things that they name, and words to search for.

Pure. Nothing here understands language: a statement is a sentence that is no question, code or
output, and a thing is a word that looks like a name.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass

MIN_WORDS, MAX_WORDS = 3, 60
MAX_STATEMENTS = 40
"""How many statements of one message are kept: a longer one is a document, not a remark."""
MAX_QUERY_WORDS = 48

_FENCE = re.compile(r"^\s*(?:```|~~~).*?^\s*(?:```|~~~)\s*$", re.MULTILINE | re.DOTALL)
_CJK_ENDS = "\u3002\uff01\uff1f"
_END = re.compile(rf"(?<=[.!?{_CJK_ENDS}])\s+|\n+|(?<=[{_CJK_ENDS}])")
_MARK = re.compile(r"^(?:[-*+>#]+|\d+[.)])\s+")
_WORD = re.compile(r"[^\W_]+(?:['\u2019._/@:+-][^\W_]+)*", re.UNICODE)
_PART = re.compile(r"[^\W_]+", re.UNICODE)
_QUOTED = re.compile(r"`([^`\n]{2,60})`|\"([^\"\n]{2,60})\"|“([^”\n]{2,60})”")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


@frozen_dataclass
class Statement:
    """A sentence worth keeping, and the things it names, in lower case."""

    text: str
    things: tuple[str, ...]


def find_statements(text: str) -> Sequence[Statement]:
    r"""Return the statements of a message, without questions and code.

    >>> [each.text for each in find_statements("- We deploy with Fly.io.\\nWhy is it slow?")]
    ['We deploy with Fly.io.']
    """
    sentences = map(_clean, _END.split(_FENCE.sub("\n", text)))
    found = dict.fromkeys(each for each in sentences if _is_statement(each))
    return [Statement(each, find_things(each)) for each in list(found)[:MAX_STATEMENTS]]


def find_things(text: str) -> tuple[str, ...]:
    """Return what a text names: quoted words, identifiers, names, versions; in lower case.

    >>> find_things("Anna runs `make test` on build_server with Python 3.12")
    ('make test', 'build_server', 'anna', 'python', '3.12')
    """
    quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    words = re.findall(r"[\w./@+:-]*\w", text)
    identifiers = [each for each in words if _is_identifier(each)]
    names = [
        each
        for each in words
        if each[0].isupper() and each.lower() not in stop_words() and not _is_identifier(each)
    ]
    numbers = [each for each in words if each[0].isdigit() and len(each) > 1]
    found = (fold(each) for each in (*quoted, *identifiers, *names, *numbers))
    return tuple(dict.fromkeys(each for each in found if each))


def find_query_words(text: str) -> Sequence[str]:
    """Return the words of a query that are worth searching for, in lower case."""
    found = dict.fromkeys(
        part
        for word in _WORD.findall(_FENCE.sub("\n", text))
        for part in (_PART.findall(split_cjk(fold(word))))
        if (len(part) > 1 or _CJK.match(part)) and part not in stop_words()
    )
    return list(found)[:MAX_QUERY_WORDS]


def fold(text: str) -> str:
    """Return a text in lower case without accents, as it is compared."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    kept = "".join(each for each in decomposed if not unicodedata.combining(each))
    # Recomposed: Hangul would otherwise be searched by its letters.
    return unicodedata.normalize("NFC", kept).strip()


def split_cjk(text: str) -> str:
    """Return a text with spaces around each CJK character, which are words for the index."""
    return _CJK.sub(lambda match: f" {match.group()} ", text)


def stop_words() -> frozenset[str]:
    """Return words that say nothing about the subject of a text."""
    if not _stop_words:
        text = Path(__file__).with_name("stop_words.txt").read_text("utf-8")
        _stop_words.append(frozenset(text.split()))
    return _stop_words[0]


_stop_words: list[frozenset[str]] = []


def _clean(sentence: str) -> str:
    return " ".join(_MARK.sub("", sentence.strip()).split())


def _is_statement(sentence: str) -> bool:
    words = _PART.findall(split_cjk(sentence))
    if not MIN_WORDS <= len(words) <= MAX_WORDS or sentence.endswith(("?", "\uff1f")):
        return False
    letters = sum(each.isalnum() or each.isspace() for each in sentence)
    # Output, code and tables are mostly signs.
    return letters >= len(sentence) * 0.8


def _is_identifier(word: str) -> bool:
    """Return whether a word is written like a name in code: `a_b`, `aB`, `a.b`, `a/b`, `ABC`."""
    inner = word.strip("./:-")
    is_joined = any(sign in inner[1:] for sign in "_./@")
    is_camel = any(a.islower() and b.isupper() for a, b in pairwise(word))
    is_acronym = len(word) > 1 and word.isupper() and word.isalpha()
    has_letter = any(each.isalpha() for each in word)
    return has_letter and (is_joined or is_camel or is_acronym)
