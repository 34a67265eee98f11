"""Distinguishes an instruction from a mention of one.

Security notes, tests and papers quote attacks. A match is a mention if it is negated or has a third
person as its subject ("never ignore ...", "it may forget ..."), or if it is quoted or reported and
the surrounding text discusses attacks. The latter needs both: quotation marks alone would let an
attacker exempt any instruction.
"""

import re

from prompt_engine.threats.engine import compile_expression
from prompt_engine.threats.spans import TextSpan

WINDOW_BEFORE = 500
WINDOW_AFTER = 250
TITLE_CHARACTERS = 300
"""Beginning of a text that may say that all of it is about attacks."""

_NEGATION = re.compile(
    r"(?:\bnever|\bnot|n['\u2019]t|\bcannot|\bwithout|\bno longer|\brefuses? to|\bdeclines? to)"
    r"(?: ever| just| simply)?[\s\"'`*_>#]+$"
    r"|(?<!you )\b(?:may|might|could|would)\s+$|\b(?:it|they|model|bot)\s+(?:will|can)\s+$"
    r"|\b(?:tends|attempts|tries)\s+to\s+$",
    re.I,
)
_DESCRIPTION = re.compile(
    r"\b(?:if|when(?:ever)?|unless)\s+(?:(?:you|it|they)\s+(?:are|is)\s+)?"
    r"(?:asked|told|instructed|prompted)\s+to\s+$"
    r"|\b(?:it|they|attackers?|someone|anyone)\s+(?:asks?|tells?|instructs?)\s+(?:\w+\s+)?to\s+$"
    r"|\bto\s+[a-z]+(?:[\s*`\"]+[a-z]+){1,6}[\s*`\"]+or\s+$"
    r"|\b(?:causes?|makes?|tricks?|forces?|leads?|manipulates?|persuades?)\s+(?:\w+\s+){1,3}to\s+"
    r"(?:\w+\s+or\s+)?$",
    re.I,
)
"""In front of a wording that may be harmless: a clause about a request of others."""
_END_OF_NAME = re.compile(r"\w-(?:override|bypass)\b", re.I)
"""End of a name, such as `print-override`: no order."""
_NOUN = re.compile(r"(?:override|bypass|neglect|disregard)\s+of\b", re.I)
_CUE = compile_expression(
    r"inject(?:ion|s\b)|jailbreak|attack|malicious|payload|adversar|untrusted|red.team|exploit"
    r"|hostile|pentest|write-up|\bctf\b|phish|malware|scanner\b|\bdetect|refuse|declines?\b"
    r"|suspicious|poison|threat|\bas data\b|indicators|exfiltration such|is_malicious"
    r"|steal|stole|vulnerab|abus(?:e[ds]?|ing)\b|inje[cç][aãoõ]|ata(?:que|cante|cco)|malicios"
    r"|angriff|bösartig|attaqu|malveillant|malevol"
    r"|persuasion|unsafe action|\bblock(?:s|ed|ing)? (?:`|reads?\b|commands?\b|calls?\b|access\b)",
    ignores_case=True,
)
"""By the linear engine: it is searched around each of up to 500 wordings of a text."""
_TITLE_CUE = re.compile(
    r"inject(?:ion|s\b)|jailbreak|attack|malicious|adversar|red.team|exploit|threat|pentest", re.I
)
_REPORT = re.compile(
    r"\b(?:says?|said|saying|tells?|telling|told|asks?|asking|asked|reads?:?|instructs?|instructing"
    r"|tr(?:y|ies|ying) to|attempts?|persuades?|tricks?|convinces?|wants?|such as|e\.g\."
    r"|for example|for instance|contains?|phrases?|strings?|often|malware|attackers?"
    r"|contendo|instruindo|pedindo|dizendo|instruyendo|pidiendo|diciendo|contiene|demandant|disant"
    r"|instruisant|contenant|chiedendo|dicendo|contenente|anweist|auffordert|behauptet|enthält)\b"
    r"[^.!?;]{0,80}$",
    re.I,
)
_GERUND = re.compile(r"[a-z]+ing\b", re.I)
_PREPOSITION = re.compile(r"\b(?:into|by|of|from|for|as|like|including)\s+$", re.I)
"""In front of a gerund, which then is no order."""
_OPENING = re.compile(
    r"(?:^|[\s(\[=:>])(?:\"|'|`{1,2})[^\"'`\n]{0,120}$|[\u201c\u00ab\u201e\u2018][^\u201d\u00bb]*$"
)
_CLOSING = re.compile("[\"'`\u201d\u00bb\u201c]")
_ADVICE = re.compile(
    r"\b(?:ask|tell) (?:the |your )?(?:agent|claude|model|assistant|ai) to [\"'\u201c]$", re.I
)
"""Of a manual for the user: a quoted phrase to say to the agent."""
_NAMED_BEFORE = re.compile(
    r"\b(?:the|this) (?:phrases?|terms?|wordings?|sentences?|strings?|words?)\s+[\"'`*\u201c]*$",
    re.I,
)
_NAMED_AFTER = re.compile(r"[^.!?;:\n]{0,60}?[\"'`*\u201d]*\s+(?:is|are|was|were)\b", re.I)
"""Around a wording that a sentence talks about: "The phrase ... is an example of ..."."""
_SOME_USERS = re.compile(r"\s+(?:who|that|whose|without|outside)\b", re.I)
"""Behind "users": some users of a program, and not the user of the agent."""
_QUOTED_LINE = re.compile(r"(?:^|\n)(?: {4}|\t|> |[ \t]*\|)[^\n]*$")
"""Of an indented block, a block quote or a table."""


def is_description(span: TextSpan) -> bool:
    """Return whether a span is part of a description.

    Less strict than `is_mention`: for wordings that a harmless text may hold, and that are marked.
    """
    return bool(_NOUN.match(span.text, span.start) or _DESCRIPTION.search(span.before(80)))


def is_ambiguous(span: TextSpan) -> bool:
    """Return whether a span may be an order or not, so that it is marked and not blocked.

    A sentence names the wording and says something of it, or it is about some users of a program.
    Weaker than a mention, as anyone can write this around an order.
    """
    is_named = _NAMED_BEFORE.search(span.before(40)) and _NAMED_AFTER.match(span.after(80))
    is_of_users = span.text[span.start : span.end].casefold().endswith("users")
    return bool(is_named or (is_of_users and _SOME_USERS.match(span.after(20))))


def is_mention(span: TextSpan) -> bool:
    """Return whether a span only mentions an instruction."""
    before = span.before(WINDOW_BEFORE)
    is_name = _END_OF_NAME.match(span.text, max(0, span.start - 2)) is not None
    if is_name or _NEGATION.search(before[-40:]):
        return True
    content = span.text[span.start : min(span.end, span.start + WINDOW_AFTER)]
    after = content + span.after(WINDOW_AFTER)
    tail = before[-160:]
    if _ADVICE.search(before[-40:]) and _CLOSING.search(after):
        return True
    is_enclosed = _OPENING.search(tail) is not None and _CLOSING.search(after) is not None
    is_gerund = _GERUND.match(content) is not None and _PREPOSITION.search(tail) is not None
    is_set_apart = (
        is_gerund or _is_fenced(before) or is_enclosed or _QUOTED_LINE.search(tail) is not None
    )
    if not (is_set_apart or _REPORT.search(before[-120:])):
        return False
    surroundings = (before + after).encode("utf-8", "replace")
    if _CUE.search(surroundings) is not None:
        return True
    return _TITLE_CUE.search(span.text[:TITLE_CHARACTERS]) is not None


def _is_fenced(before: str) -> bool:
    """Return whether a text ends within a code fence; its beginning may be missing."""
    _, fence, behind = before.rpartition("```")
    has_language = bool(fence) and behind[:1].isalpha()
    return has_language or before.count("```") % 2 == 1
