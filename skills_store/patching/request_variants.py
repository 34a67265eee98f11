"""Alternative readings of an edit request: without escapes, line numbers, fences, marks and so on.

Each is only a guess. Whether it is right shows when the old text is found.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import replace

from skills_store.patching.text_search import EditRequest

NUMBERED_EVERY = 5
"""Lines whose numbers are divisible by this are shown as `5|text`, the others without a number.

Numbers on all lines would cost a tenth of the text.
"""
_ESCAPE = re.compile(r"""\\[ntr"'`$\\]""")
_ESCAPE_CHARACTERS = {
    "\\n": "\n",
    "\\t": "\t",
    "\\r": "\r",
    '\\"': '"',
    "\\'": "'",
    "\\`": "`",
    "\\$": "$",
    "\\\\": "\\",
}
_NUMBERED = re.compile(r"[ \t]*L?(\d+)([|\t:→])(.*)")
_SPARSELY_NUMBERED = re.compile(r"(\d+)\|")
_FENCE = re.compile(r"\s*```[\w+#.-]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#x27|#34);")
_PATCH_LINE = re.compile(r"\*\*\* (?:Begin Patch|Update File:)|@@ -\d|diff --git |<<<<<<< SEARCH")
_ELLIPSES = frozenset({"...", "…"})
_COMMENT_MARKS = "#/*-<!>;%{} \t"


def without_edge_newlines(text: str, request: EditRequest) -> EditRequest | None:
    """Remove a newline that the text lacks at its very end or start; None if there is none."""
    old, new = request.old, request.new
    at_end, at_start = old.removesuffix("\n"), old.removeprefix("\n")
    if at_end != old and text.endswith(at_end) and not text.endswith("\n"):
        return replace(request, old=at_end, new=new.removesuffix("\n"), ends_line=True)
    if at_start != old and text.startswith(at_start):
        return replace(request, old=at_start, new=new.removeprefix("\n"), starts_line=True)
    return None


def without_blank_edges(request: EditRequest) -> EditRequest:
    """Remove blank lines at the edges of the old text, and at most as many from the new text."""
    old, new = request.old.split("\n"), request.new.split("\n")
    first, last = _blank_edges(old)
    if first == len(old):
        return request
    new_first, new_last = _blank_edges(new)
    new_first = min(first, new_first)
    new_last = min(last, new_last, len(new) - new_first - 1)
    is_removal = not request.new.strip()  # otherwise it would be joined to the next line
    return EditRequest(
        old="\n".join(old[first : len(old) - last]),
        new="\n".join(new[new_first : len(new) - new_last]),
        starts_line=request.starts_line or first > 0,
        ends_line=request.ends_line or last > 0,
        takes_newline_before=request.takes_newline_before
        or (is_removal and first > 0 and not request.new.startswith("\n")),
        takes_newline_after=request.takes_newline_after
        or (is_removal and last > 0 and not request.new.endswith("\n")),
    )


def _blank_edges(lines: list[str]) -> tuple[int, int]:
    """Return the number of blank lines at the start and at the end."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return (filled[0], len(lines) - 1 - filled[-1]) if filled else (len(lines), 0)


def without_escapes(request: EditRequest) -> EditRequest | None:
    r"""Replace escape sequences by their characters; None if the old text has none.

    In the new text only the kinds of sequences in the old text are replaced. If those include
    `\n`, all kinds are: then the entire request was escaped once too often.
    """
    kinds = set(_ESCAPE.findall(request.old))
    if not kinds:
        return None
    new_kinds = set(_ESCAPE_CHARACTERS) if "\\n" in kinds else kinds
    old, new = _unescape(request.old, kinds), _unescape(request.new, new_kinds)
    return replace(request, old=old, new=new)


def _unescape(text: str, kinds: set[str]) -> str:
    def replacement(escape: re.Match[str]) -> str:
        return _ESCAPE_CHARACTERS[escape.group()] if escape.group() in kinds else escape.group()

    return _ESCAPE.sub(replacement, text)


def without_fence(request: EditRequest) -> EditRequest | None:
    """Remove a code fence around the old text, and around the new one; None if there is none."""
    old = _FENCE.fullmatch(request.old)
    if old is None:
        return None
    new = _FENCE.fullmatch(request.new)
    return replace(request, old=old[1], new=request.new if new is None else new[1])


def without_diff_marks(request: EditRequest) -> EditRequest | None:
    """Remove the marks of a diff: `-` in the old text and `+` in the new one; None without them."""
    old, new = _without_marks(request.old, "-"), _without_marks(request.new, "+")
    if old is None or (new is None and request.new):
        return None
    return replace(request, old=old, new=new or "", starts_line=True)


def _without_marks(text: str, mark: str) -> str | None:
    """Return the text without the first character of each line, if one of these is the mark."""
    lines = text.removesuffix("\n").split("\n")
    if not all(line.startswith((mark, " ")) or not line for line in lines):
        return None
    if not any(line.startswith(mark) for line in lines):
        return None
    return "\n".join(line[1:] for line in lines) + "\n" * text.endswith("\n")


def without_entities(request: EditRequest) -> EditRequest | None:
    """Replace HTML entities by their characters; None if not all of the request is escaped."""
    if not _ENTITY.search(request.old) or _has_raw_markup(request.old + request.new):
        return None
    return replace(request, old=html.unescape(request.old), new=html.unescape(request.new))


def _has_raw_markup(text: str) -> bool:
    rest = _ENTITY.sub("", text)
    return "<" in rest or ">" in rest or "&" in rest


def split_at_ellipses(request: EditRequest) -> list[tuple[str, str]]:
    """Return the parts of the old and the new text between lines that say only `...`, in pairs.

    Empty unless both have equally many such lines, and the old one has text where the new one has.
    """
    old, new = _parts(request.old), _parts(request.new)
    if len(old) == 1 or len(old) != len(new):
        return []
    pairs = list(zip(old, new, strict=True))
    has_place = all(part.strip() or not other.strip() for part, other in pairs)
    return [pair for pair in pairs if pair[0].strip()] if has_place else []


def _parts(text: str) -> list[str]:
    parts: list[list[str]] = [[]]
    for line in text.strip("\n").split("\n"):
        if is_ellipsis(line):
            parts.append([])
        else:
            parts[-1].append(line)
    return ["\n".join(part) for part in parts]


def is_ellipsis(line: str) -> bool:
    """Whether a line stands for lines that are left out.

    >>> is_ellipsis("    # ..."), is_ellipsis("// ... existing code ..."), is_ellipsis("...args")
    (True, True, False)
    """
    bare = line.strip(_COMMENT_MARKS)
    return bare in _ELLIPSES or bare.startswith(tuple(f"{each} " for each in _ELLIPSES))


def describe_mistake(old: str) -> str:
    """Return what is likely wrong with an old text that was not found; empty if nothing is seen."""
    lines = old.strip("\n").split("\n")
    ellipsis = next((line.strip() for line in lines if is_ellipsis(line)), "")
    marked = [line for line in lines if line.startswith(("-", "+"))]
    is_marked = bool(marked) and all(not line or line[0] in "-+ " for line in lines)
    mistakes = {
        "is a patch. Give it as the argument patch, with mode patch": bool(_PATCH_LINE.search(old)),
        f"is abbreviated ({ellipsis}). Write all of its lines, or take a shorter part": ellipsis,
        "has a code fence (```). If the file does not have it, leave it out": (
            any(line.lstrip().startswith("```") for line in lines)
        ),
        "has HTML entities (such as &lt;). Write the characters themselves": bool(
            _ENTITY.search(old)
        ),
        "has the marks of a diff (- and +). Leave them out": is_marked,
        "has line numbers that do not fit. Leave them out": (
            all(_NUMBERED.fullmatch(line) for line in lines)
        ),
    }
    mistake = next((name for name, is_made in mistakes.items() if is_made), "")
    return f"The old text {mistake}." if mistake else ""


def without_line_numbers(request: EditRequest) -> tuple[EditRequest, int] | None:
    """Remove a file viewer's line numbers and return the first.

    Either all lines have numbers, or only lines that `NUMBERED_EVERY` names. None otherwise.
    """
    old = _strip_line_numbers(request.old)
    if old is None:
        return _without_some_line_numbers(request)
    new = _strip_line_numbers(request.new)
    if new is None and any(_NUMBERED.fullmatch(line) for line in request.new.split("\n")):
        return None
    return _unnumbered(request, old[0], request.new if new is None else new[0]), old[1]


def _without_some_line_numbers(request: EditRequest) -> tuple[EditRequest, int] | None:
    """Remove the numbers of some lines; they must fit the places of these lines.

    In the new text, only numbers that the old text has are removed; with others, the request is
    not understood.
    """
    old, new = request.old.split("\n"), request.new.split("\n")
    numbers = {
        index: int(match[1])
        for index, line in enumerate(old)
        if (match := _SPARSELY_NUMBERED.match(line))
    }
    first_numbers = {number - index for index, number in numbers.items()}
    marks = tuple(f"{number}|" for number in numbers.values())
    plain_new = [_without_mark(line, marks) for line in new]
    is_in_form = len(first_numbers) == 1 and not any(
        number % NUMBERED_EVERY for number in numbers.values()
    )
    if not is_in_form or any(map(_SPARSELY_NUMBERED.match, plain_new)):
        return None
    plain_old = "\n".join(_without_mark(line, marks) for line in old)
    return _unnumbered(request, plain_old, "\n".join(plain_new)), first_numbers.pop()


def _without_mark(line: str, marks: Sequence[str]) -> str:
    return next((line.removeprefix(mark) for mark in marks if line.startswith(mark)), line)


def _unnumbered(request: EditRequest, old: str, new: str) -> EditRequest:
    ends_line = request.ends_line or not old.endswith("\n")
    return replace(request, old=old, new=new, starts_line=True, ends_line=ends_line)


def _strip_line_numbers(text: str) -> tuple[str, int] | None:
    """Return the text without line numbers, and the first number."""
    body = text.removesuffix("\n")
    parts = [_NUMBERED.fullmatch(line) for line in body.split("\n")]
    matches = [part for part in parts if part is not None]
    if len(matches) < len(parts):
        return None
    first = int(matches[0][1])
    is_consecutive = [int(match[1]) for match in matches] == [*range(first, first + len(matches))]
    if not is_consecutive or len({match[2] for match in matches}) > 1:
        return None
    lines = [match[3] for match in matches]
    if matches[0][2] == ":" and all(line.startswith(" ") or not line for line in lines):
        lines = [line[1:] for line in lines]
    return "\n".join(lines) + text[len(body) :], first
