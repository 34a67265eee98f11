"""Tokens for the word index, which needs spaces that Chinese, Japanese and Korean lack.

A run of such characters is written as its adjacent pairs, so that any two or more of them are found
as a phrase; each single character is added as a word too. Indexing and searching must use the same
tokens. Knows no database.
"""

import re
from itertools import pairwise

_RANGES = (
    "\u1100-\u11ff"  # Hangul
    "\u2e80-\u2fdf"  # radicals
    "\u3005-\u3007"  # signs that repeat a character or stand for one
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3100-\u318f"  # Bopomofo, Hangul
    "\u31a0-\u31ff"  # more of Bopomofo and Katakana
    "\u3400-\u4dbf\u4e00-\u9fff"  # Han
    "\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\uf900-\ufaff"  # Han
    "\uff66-\uffdc"  # halfwidth Katakana and Hangul
    "\U0001b000-\U0001b16f"  # Kana
    "\U00020000-\U000323af"  # Han
)
CJK_RUN = re.compile(f"[{_RANGES}]+")

_SEPARATOR_WORD = "\ue000"
"""A word that occurs in no text: no phrase matches across it."""


def has_word_character(text: str) -> bool:
    """Whether the word index holds any of this text: it needs a letter or a digit."""
    return any(character.isalnum() for character in text)


def to_index_text(text: str) -> str:
    """Return the text to put into the word index."""
    if text.isascii():
        return text
    characters = dict.fromkeys(each for run in CJK_RUN.findall(text) for each in run)
    if not characters:
        return text
    inline = CJK_RUN.sub(lambda run: f" {_adjacent_pairs(run[0])} {run[0][-1]} ", text)
    return " ".join((inline, _SEPARATOR_WORD, *characters))


def phrase_query(text: str, *, is_prefix: bool = False) -> str:
    """Return the index query that finds a text as adjacent words."""
    pieces: list[str] = []
    end = 0
    for run in CJK_RUN.finditer(text):
        pieces.append(text[end : run.start()])
        end = run.end()
        is_last = not has_word_character(text[end:])
        pieces.append(_query_tokens(run[0], is_last=is_last))
        if is_last:  # its run may continue in a matching text
            is_prefix = len(run[0]) == 1 and has_word_character("".join(pieces[:-1]))
    pieces.append(text[end:])
    words = " ".join(pieces).replace('"', " ")
    return f'"{words}"' + ("*" if is_prefix else "")


def _query_tokens(run: str, *, is_last: bool) -> str:
    if len(run) == 1:
        return run
    return _adjacent_pairs(run) if is_last else f"{_adjacent_pairs(run)} {run[-1]}"


def _adjacent_pairs(run: str) -> str:
    return " ".join(map("".join, pairwise(run)))
