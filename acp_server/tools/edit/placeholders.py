"""Finds lines that stand for code, such as `// ... existing code ...`, in the new text of an edit.

Models write them to save output. Applied literally, they delete the code that they stand for.
"""

import re
from collections import Counter
from collections.abc import Iterator

from acp_server.tools.errors import ToolError
from acp_server.tools.files.encoding import split_lines

MAX_LINE_CHARACTERS = 120
"""A longer line is no placeholder."""

_FENCE = "```"
_COMMENT = re.compile(r"//|/\*|#|<!--|--|;|%|\(\*|'|\brem\b", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\.\.\.|…")
_WORD = re.compile(r"[^\W_]+")
_PROSE = re.compile(r"(?:\.\.\.|[\w\s…()\[\],:'&/-])*")
"""What is between the words of a sentence; code has other characters there, too."""

_PARTS = (
    r"(?:code|codes|file|files|function|functions|method|methods|class|classes|implementation"
    r"|implementations|contents?|script|module|component|components|logic|body|lines?|program"
    r"|document|page|section|sections|imports?|tests?|config|configuration|definitions?|fields"
    r"|properties|handlers|routes|styles|rules|cases|entries|items|text|markup|template|stuff)"
)
_WHAT = rf"(?:\w+ ){{0,2}}{_PARTS}"
_KEPT = (
    r"(?:(?:is|are|remains?|stays?|kept|keeps?|continues?|goes|go|left|to|be)\s)*"
    r"(?:unchanged|unmodified|untouched|(?:exactly )?(?:the )?same(?: as (?:before|above|it was))?"
    r"|as is|as before|as it was|omitted|truncated|elided|not (?:changed|shown)|here|intact)"
    r"(?: for brevity| here| above| below| as before)?"
)
_STANDS_FOR_CODE = re.compile(
    # What is left out is named, and said to stay: clear without an ellipsis.
    rf"(?:(?:the |all )?(?:rest|remainder)(?: of {_WHAT})?"
    rf"|(?:keep )?(?:the |all |all the |your )?(?:existing|previous|original|remaining|other)"
    rf" {_WHAT})"
    rf" {_KEPT}"
    rf"|(?:the )?{_PARTS} (?:(?:remains?|stays?) (?:unchanged|the same)|(?:is|are) unchanged)"
    r"|unchanged",
    re.IGNORECASE,
)
_STANDS_FOR_CODE_IF_ELIDED = re.compile(
    rf"(?:keep |with |and |plus |your |my )*(?:the |all |all the )?(?:(?:rest|remainder)"
    rf"(?: of {_WHAT})?|(?:existing|previous|original|remaining|other|unchanged|same) {_WHAT})"
    r"(?: (?:above|below|here))?"
    rf"|(?:{_PARTS} )?(?:unchanged|omitted|truncated|elided|snip|snipped)(?: {_PARTS})?"
    r"(?: for brevity| here)?"
    r"|(?:the )?same as (?:before|above)|as before|no changes?(?: here)?"
    rf"|{_PARTS} (?:continues|goes here)",
    re.IGNORECASE,
)
_READ_NOTE = re.compile(
    r"\[lines [\d,]+-[\d,]+: (?:unchanged since you read them"
    r"|the same as lines [\d,]+-[\d,]+ that you read)\]"
    r"|\[[\d,]+ more(?:: offset=\d+| lines; .*)\]"
)
"""The lines in which `read_file` refers to lines that it does not show."""
_MAX_WORDS_OF_SENTENCE_END = 3
_MIN_WORDS_OUTSIDE_COMMENTS = 2
"""`...rest` is code, `... rest of the code` is not."""


class PlaceholderError(ToolError):
    """The new text has a placeholder in place of code that it drops."""

    def __init__(self, line: str, number: int) -> None:
        super().__init__(
            f"Nothing was written: {line!r} (line {number} of the result) would replace the code "
            "that it stands for. Write that code out, or use patch with only the lines that change."
        )


def check_placeholders(old_text: str, new_text: str) -> None:
    """Make sure that an edit does not replace code by a placeholder.

    A line that the old text holds too is no placeholder, nor is one within a code fence: that is an
    example in a document. An edit that only adds lines passes.

    Raises:
        PlaceholderError: It does.
    """
    old_lines = [line.strip() for line in split_lines(old_text)]
    new_lines = [line.strip() for line in split_lines(new_text)]
    dropped = Counter(filter(None, old_lines)) - Counter(new_lines)
    if not dropped:
        return
    known = set(old_lines)
    for number, line in iter_placeholders(new_lines):
        if line not in known:
            raise PlaceholderError(line, number)


def iter_placeholders(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines outside of code fences that stand for code, with their numbers from 1."""
    is_fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(_FENCE):
            is_fenced = not is_fenced
        elif not is_fenced and is_placeholder(line):
            yield number, line


def is_placeholder(line: str) -> bool:
    """Whether a line says nothing but that code was left out.

    >>> is_placeholder("// ... existing code ..."), is_placeholder("...rest,")
    (True, False)
    """
    if _READ_NOTE.fullmatch(line):
        return True
    words = list(_WORD.finditer(line[: MAX_LINE_CHARACTERS + 1]))
    if not words or len(line) > MAX_LINE_CHARACTERS:
        return False
    head, tail = line[: words[0].start()], line[words[-1].end() :]
    is_comment = _COMMENT.search(head) is not None
    is_elided = _ELLIPSIS.search(head) is not None or _ELLIPSIS.search(tail) is not None
    if not is_comment and (not is_elided or len(words) < _MIN_WORDS_OUTSIDE_COMMENTS):
        return False
    if _PROSE.fullmatch(line, words[0].start(), words[-1].end()) is None:
        return False
    phrase = " ".join(word.group() for word in words)
    # Few words and a full stop are the end of a sentence that began on the line before.
    is_sentence_end = tail.strip() == "." and len(words) <= _MAX_WORDS_OF_SENTENCE_END
    if not is_sentence_end and _STANDS_FOR_CODE.fullmatch(phrase) is not None:
        return True
    return is_elided and _STANDS_FOR_CODE_IF_ELIDED.fullmatch(phrase) is not None
