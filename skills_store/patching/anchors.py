"""Last-resort search: finds a block by its first and last line.

Whitespace and the punctuation of comments may differ in the lines between. Their words, numbers,
symbols and quoted texts must be equal and in the same order.
"""

import re

from skills_store.patching.folding import END_BLANKS
from skills_store.patching.indentation import Indentation, derive_indentation
from skills_store.patching.text_search import EditRequest, MatchedSpan, SearchableText, to_spans

MIN_LINES = 3
MAX_COMPARED_LINES = 20_000

_TOKEN = re.compile(r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|`[^`]*+`|\w+|[^\w\s"'`]+|["'`]|\s+""")
_COMMENT = re.compile(r"(?:#|//|--)\s+\S.*")
_PUNCTUATION = re.compile(r"[.,;:]+(?=\s|$)")


def find_anchored(source: SearchableText, request: EditRequest) -> list[MatchedSpan]:
    """Return the spans whose first and last line are equal and whose middle has the same tokens."""
    old_lines = request.old.split("\n")
    count = len(old_lines)
    if count < MIN_LINES:
        return []
    lines = source.lines
    first, last = old_lines[0].strip(), old_lines[-1].strip()
    end_indices = (
        index for index, line in enumerate(lines) if last in line and line.strip() == last
    )
    indices = [end - count + 1 for end in end_indices if end - count + 1 >= 0]
    indices = [index for index in indices if lines[index].strip() == first]
    if len(indices) * count > MAX_COMPARED_LINES:
        return []
    keys = [_line_tokens(line) for line in old_lines]
    candidates: list[tuple[int, int, Indentation]] = []
    for index in indices:
        own_lines = lines[index : index + count]
        if any(_line_tokens(line) != key for line, key in zip(own_lines, keys, strict=True)):
            continue
        rule = derive_indentation(old_lines, own_lines, request.new.split("\n"))
        if rule is not None:
            candidates.append((index, count, rule))
    return to_spans(source, candidates, END_BLANKS)


def _line_tokens(line: str) -> tuple[str, ...]:
    """Return the tokens of a line, without blanks that only separate symbols."""
    line = line.strip()
    if _COMMENT.fullmatch(line):
        return tuple(_PUNCTUATION.sub("", line).split())
    tokens = _TOKEN.findall(line)
    return tuple(
        " " if token.isspace() else token
        for position, token in enumerate(tokens)
        if not token.isspace() or _is_separator_needed(tokens[position - 1], tokens[position + 1])
    )


def _is_separator_needed(before: str, after: str) -> bool:
    """Return whether two tokens would merge into something else without the blank between them."""
    are_words = _is_word(before[-1]) and _is_word(after[0])
    are_signs = not _is_bracket(before[-1]) and not _is_bracket(after[0])
    return are_words or (are_signs and not _is_word(before[-1]) and not _is_word(after[0]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_bracket(character: str) -> bool:
    return character in "()[]{},;"
