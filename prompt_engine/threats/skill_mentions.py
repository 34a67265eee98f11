"""Distinguishes commands and instructions of a skill from mentions of them.

Security notes and style guides quote forbidden actions. A match is a mention if the same sentence
or the heading of its list forbids it, or if it is quoted and the surrounding text discusses
attacks. In programs only comments can be mentions; decoded text never is.

Not the same as `mentions`: a sentence for the model and a command are negated, quoted and discussed
in different ways.
"""

import re

_BEFORE_BYTES = 500
_AFTER_BYTES = 200
_SENTENCE_BYTES = 160
_LIST_BYTES = 1000
"""Maximum distance of a list item from the heading of its list."""

_FORBIDDEN = re.compile(
    rb"\b(?:never|do not|don.{1,3}t|must not|should not|shouldn.{1,3}t|avoid|refuse(?: to)?|forbid|"
    rb"reject|instead of|rather than|no longer|cannot|beware of|warn(?:s|ing)? "
    rb"(?:about|against|on)|watch (?:out )?for|stop if)\b"
    rb"(?P<rest>(?:[^.!?\n:]{0,12}\bthis:|\s*:|[^.!?\n:]*following:)?[^.!?\n:]*)$",
    re.I,
)
_LIST_ITEM = re.compile(rb"[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_HEADING = re.compile(rb"^(?:#{1,6}[ \t]|\*\*)([^\n]*)$", re.M)
_FORBIDDING_HEADING = re.compile(
    rb"\b(?:never|do not|don.{1,3}t|must not)(?! (?:forget|miss|skip|fail))\b"
    rb"|\b(?:avoid|forbidden|prohibited|not allowed|anti.?patterns?|red flags?|bad practices?)\b",
    re.I,
)
_ORDER = re.compile(rb"\b(?:but|then|instead|now|just|please|you must|always)\b", re.I)
_CUE = re.compile(
    rb"\b(?:injections?|jailbreak|attack(?:s|er|ers)?|malicious|malware|payloads?|untrusted|exploit"
    rb"|hostile|pentest|phish\w*|suspicious|poison\w*|threats?|red.?flags?|vulnerab\w*|indicators?"
    rb"|unsafe|insecure|dangerous|anti.?patterns?|bad example|bad practice|risky|backdoors?"
    rb"|exfiltrat\w+|findings?|leak(?:s|ed)?|compromised?|suspected|audit)\b",
    re.I,
)
_TALK = re.compile(
    rb"\b(?:detects?|flags?|looks? (?:for|like)|watch|search(?:es)? for|grep|reports?|reject|refuse"
    rb"|such as|for example|e\.g\.|typical|examples?|sa(?:y|ys|ying)|tr(?:y|ies)|signs?|bad|wrong"
    rb"|before|vulnerable|unsafe|never|do not|don.t|avoid|means?|matches|patterns?|if (?:a|an|the)"
    rb"|treat|warns?|contain(?:s|ing)?|check(?:s|ing)? (?:for|that|whether)|like|review)\b",
    re.I,
)
_OBEY = re.compile(rb"\b(?:run (?:this|it|the following)|execute (?:this|it|the)|now run)\b", re.I)
_COMMENT = re.compile(rb"^[ \t]*(?:#(?!!)|//|--(?!>)|;|\*|rem\b|\"\"\")", re.I)
_QUOTES = (b'"', b"`", b"'", b"\xe2\x80\x9c", b"\xc2\xab")
_CLOSING = (b'"', b"`", b"'", b"\xe2\x80\x9d", b"\xc2\xbb")


def is_mention(data: bytes, start: int, end: int, *, is_program: bool) -> bool:
    """Return whether `data[start:end]` is a mention, neither an order nor a command."""
    line_start = data.rfind(b"\n", 0, start) + 1
    head = data[max(line_start, start - _SENTENCE_BYTES) : start]
    if is_program and not _COMMENT.match(data[line_start : line_start + 80]):
        return False
    prohibition = _FORBIDDEN.search(head)
    if prohibition and not _ORDER.search(prohibition["rest"]):
        return True
    if _LIST_ITEM.match(head) and _is_under_prohibition(data, line_start):
        return True
    before = data[max(0, start - _BEFORE_BYTES) : start]
    line_end = data.find(b"\n", start)
    tail = data[start : line_end if line_end >= 0 else None][:_BEFORE_BYTES]
    is_fenced = before.count(b"```") % 2 == 1
    is_quoted = any(mark in head for mark in _QUOTES) and any(mark in tail for mark in _CLOSING)
    is_in_table_or_block_quote = head.lstrip()[:1] in (b"|", b">")
    if not (is_fenced or is_quoted or is_in_table_or_block_quote):
        return False
    context = before + data[start : start + _AFTER_BYTES] + data[end : end + _AFTER_BYTES]
    preceding = before[-_SENTENCE_BYTES * 2 :]
    is_discussed = _TALK.search(preceding) is not None and _CUE.search(context) is not None
    return is_discussed and _OBEY.search(preceding) is None


def _is_under_prohibition(data: bytes, line_start: int) -> bool:
    """Return whether the last heading in front of a list forbids what the list names."""
    headings = _HEADING.findall(data, max(0, line_start - _LIST_BYTES), line_start)
    return bool(headings) and _FORBIDDING_HEADING.search(headings[-1]) is not None
