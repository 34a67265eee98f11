"""Paths that a text mentions by `@path`, on a line of its own or within a sentence.

Text alone decides: nothing is read, and nothing heavy is imported.
"""

import re
from dataclasses import dataclass

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_MENTION = re.compile(r"(?:^|(?<=[\s(\[*_]))@((?:[^\s\\]|\\ )+)", re.MULTILINE)
_ONLY_MENTION = re.compile(r"[ \t]*(?:[-*+][ \t]+)?@((?:[^\s\\]|\\ )+)[ \t]*")
TRAILING_MARKS = ".,;:!?)]}*_'\""
"""Marks that end a sentence rather than a path."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Path behind an `@`."""

    path: str
    """As written, without the `@`."""
    is_line: bool
    """Whether the line says nothing else, so that it can only mean the path."""


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return the paths behind `@` outside code blocks and code spans, in order, each once."""
    found: dict[str, Mention] = {}
    for line in _CODE_SPAN.sub(" ", _without_fenced_code(text)).split("\n"):
        only = _ONLY_MENTION.fullmatch(line)
        for written in [only[1]] if only else _MENTION.findall(line):
            path = written.replace("\\ ", " ")
            found.setdefault(path, Mention(path, only is not None))
    return tuple(found.values())


def _without_fenced_code(text: str) -> str:
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            # A fence ends with at least as many of the same characters, and nothing behind them.
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            lines.append(line)
    return "\n".join(lines)
