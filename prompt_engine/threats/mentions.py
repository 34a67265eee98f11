"""Distinguishes an instruction from a mention of one.

Security notes, tests and papers quote attacks. A match is a mention if it is negated or has a third
person as its subject ("never ignore ...", "it may forget ..."), or if it is quoted or reported and
the surrounding text discusses attacks. The latter needs both: quotation marks alone would let an
attacker exempt any instruction.
"""

import re

from prompt_engine.threats.spans import TextSpan

WINDOW_BEFORE = 500
WINDOW_AFTER = 250

_NEGATION = re.compile(
    r"(?:\bnever|\bnot|n['\u2019]t|\bcannot|\bwithout|\bno longer|\brefuses? to|\bdeclines? to)"
    r"(?: ever| just| simply)?[\s\"'`*_>#]+$"
    r"|(?<!you )\b(?:may|might|could|would)\s+$|\b(?:it|they|model|bot)\s+(?:will|can)\s+$",
    re.I,
)
_CUE = re.compile(
    r"inject(?:ion|s\b)|jailbreak|attack|malicious|payload|adversar|untrusted|red.team|exploit"
    r"|hostile|pentest|write-up|\bctf\b|phish|malware|scanner\b|\bdetect|refuse|declines?\b"
    r"|suspicious|poison|threat|\bas data\b|indicators|exfiltration such|is_malicious"
    r"|persuasion|unsafe action|\bblock(?:s|ed|ing)? (?:`|reads?\b|commands?\b|calls?\b|access\b)",
    re.I,
)
_REPORT = re.compile(
    r"\b(?:says?|said|saying|tells?|telling|told|asks?|asking|asked|reads?:?|instructs?|instructing"
    r"|tr(?:y|ies|ying) to|attempts?|persuades?|tricks?|convinces?|wants?|such as|e\.g\."
    r"|for example|for instance|contains?|phrases?|strings?|often|malware|attackers?)\b"
    r"[^.!?;]{0,80}$",
    re.I,
)
_OPENING = re.compile(
    r"(?:^|[\s(\[=:>])(?:\"|'|`{1,2})[^\"'`\n]{0,120}$|[\u201c\u00ab\u201e\u2018][^\u201d\u00bb]*$"
)
_CLOSING = re.compile("[\"'`\u201d\u00bb\u201c]")
_ADVICE = re.compile(
    r"\b(?:ask|tell) (?:the |your )?(?:agent|claude|model|assistant|ai) to [\"'\u201c]$", re.I
)
"""Of a manual for the user: a quoted phrase to say to the agent."""
_QUOTED_LINE = re.compile(r"(?:^|\n)(?: {4}|\t|> )[^\n]*$")


def is_mention(span: TextSpan) -> bool:
    """Return whether a span only mentions an instruction."""
    before = span.before(WINDOW_BEFORE)
    if _NEGATION.search(before[-40:]):
        return True
    content = span.text[span.start : min(span.end, span.start + WINDOW_AFTER)]
    after = content + span.after(WINDOW_AFTER)
    tail = before[-160:]
    if _ADVICE.search(before[-40:]) and _CLOSING.search(after):
        return True
    is_fenced = before.count("```") % 2 == 1
    is_enclosed = _OPENING.search(tail) is not None and _CLOSING.search(after) is not None
    is_set_apart = is_fenced or is_enclosed or _QUOTED_LINE.search(tail) is not None
    if not (is_set_apart or _REPORT.search(before[-120:])):
        return False
    return _CUE.search(before + after) is not None
