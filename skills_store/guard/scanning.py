"""Scans a skill: applies every rule to every view of every file, then combines the signals.

Time is linear in the size. Does no I/O.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Protocol, get_args

from skills_store.guard.catalogue import GuardRule, RuleGroup, Signal, rule_groups
from skills_store.guard.contents import SkillContents
from skills_store.guard.engine import GuardMatch
from skills_store.guard.exemptions import is_placeholder, uses_only_known_hosts
from skills_store.guard.mentions import RuleMatchSpan, is_mention
from skills_store.guard.structure import is_opaque, structure_findings
from skills_store.guard.verdict import Severity, SkillFinding, SkillVerdict, build_verdict
from skills_store.guard.views import TextView, decode_file, hidden_line, text_views

MAX_MATCHES = 30
"""Maximum findings per group and view of a file."""
MAX_EXEMPTION_CHECKS = 40
"""Maximum matches per group and view checked for an exemption; later ones count unchecked."""
MAX_SCANNED_BYTES = 192 * 1024
"""Of all texts together, data files last; several times the size of a normal skill."""
NEAR_LINES = 20
"""Maximum distance in lines, in prose, between reading a secret and sending data to combine them.
"""

_DATA = {".json", ".jsonl", ".csv", ".tsv", ".svg", ".xml", ".xsd", ".txt", ".log", ".ipynb"}
_PROSE = {".md", ".txt", ".rst", ".adoc", ".markdown", ""}


class TextFinding(Protocol):
    """Finding of an additional text scan."""

    @property
    def pattern(self) -> str:
        """Pattern id."""
        ...

    @property
    def line(self) -> int:
        """Line, counted from 1."""
        ...


TextScan = Callable[[str], Sequence[TextFinding]]
"""Scans a complete text for injected instructions, in linear time."""

_Signals = dict[Signal, list[int]]


def scan_skill(contents: SkillContents, text_scan: TextScan | None = None) -> SkillVerdict:
    """Scan a skill and return the verdict. Never raises, for any content.

    Args:
        contents: the skill.
        text_scan: additional scan of each text; its findings count as injections.
    """
    return build_verdict(_findings(contents, text_scan))


def _findings(contents: SkillContents, text_scan: TextScan | None) -> Iterator[SkillFinding]:
    yield from structure_findings(contents)
    bytes_left = MAX_SCANNED_BYTES
    for name, data in sorted(contents.files.items(), key=_scan_order):
        if is_opaque(name, data):
            continue
        if len(data) > bytes_left:
            severity: Severity = "caution" if _is_data(name, data) else "dangerous"
            yield SkillFinding(name, 0, "structure", severity, "was only partly scanned")
        text = decode_file(data[: max(bytes_left, 0)])
        bytes_left -= len(data)
        yield from _text_findings(name, text)
        for found in text_scan(text) if text_scan else ():
            yield SkillFinding(name, found.line, "injection", "dangerous", found.pattern)


def _scan_order(file: tuple[str, bytes]) -> tuple[bool, str]:
    name, data = file
    return _is_data(name, data), name


def _is_data(name: str, data: bytes) -> bool:
    return PurePosixPath(name.lower()).suffix in _DATA and not data.startswith(b"#!")


def _text_findings(name: str, text: str) -> Iterator[SkillFinding]:
    is_program = PurePosixPath(name.lower()).suffix not in _PROSE or text.startswith("#!")
    line = hidden_line(text)
    if line:
        description = "contains characters that hide or reorder text"
        yield SkillFinding(name, line, "obfuscation", "dangerous", description)
    signals: _Signals = {signal: [] for signal in get_args(Signal)}
    for view in text_views(text):
        for group in rule_groups():
            for rule, offset in islice(_matches(group, view, is_program=is_program), MAX_MATCHES):
                found_line = view.line_at(offset)
                if rule.signal:
                    signals[rule.signal].append(found_line)
                severity = _severity(rule, view)
                yield SkillFinding(
                    name, found_line, rule.category, severity, _description(rule, view)
                )
    yield from _combined_findings(name, signals, NEAR_LINES if not is_program else None)


def _matches(
    group: RuleGroup, view: TextView, *, is_program: bool
) -> Iterator[tuple[GuardRule, int]]:
    """Yield the matching rules and their offsets, except exempt matches."""
    for count, match in enumerate(group.expression.finditer(view.data)):
        rule = group.rules[(match.lastindex or 1) - 1]
        is_checked = count < MAX_EXEMPTION_CHECKS
        if not (is_checked and _is_exempt(rule, match, view, is_program=is_program)):
            yield rule, match.start()


def _is_exempt(rule: GuardRule, match: GuardMatch, view: TextView, *, is_program: bool) -> bool:
    data = view.data
    if rule.exempts_placeholders:
        return is_placeholder(data[match.start() : match.end()])
    if rule.exempts_known_hosts:
        end = data.find(b"\n", match.end())
        line = data[match.start() : end if end >= 0 else len(data)]
        if uses_only_known_hosts(line[:500]):
            return True
    span = RuleMatchSpan(data, match.start(), match.end(), is_program)
    return not view.is_decoded and is_mention(span)


def _severity(rule: GuardRule, view: TextView) -> Severity:
    """Return the rule's severity, raised if the match was hidden in an encoding."""
    return "dangerous" if view.is_decoded and rule.severity == "caution" else rule.severity


def _description(rule: GuardRule, view: TextView) -> str:
    return f"in encoded text: {rule.description}" if view.is_decoded else rule.description


def _combined_findings(
    name: str, signals: _Signals, near_lines: int | None
) -> Iterator[SkillFinding]:
    """Yield findings for signals that are harmful only in combination, each once."""
    sinks = signals["sink"] + signals["drop-box"]
    line = _first_line_near(signals["source"], sinks, near_lines)
    if line:
        description = "reads secrets and sends something to another machine"
        yield SkillFinding(name, line, "exfiltration", "dangerous", description)
    if near_lines is None and signals["decodes"] and signals["executes"]:
        line = min(signals["executes"])
        description = "decodes something and runs text as a program"
        yield SkillFinding(name, line, "obfuscation", "dangerous", description)


def _first_line_near(
    lines: Iterable[int], other_lines: Iterable[int], near_lines: int | None
) -> int:
    """Return the first line of `lines` that has one of `other_lines` nearby; 0 if there is none."""
    sorted_others = sorted(set(other_lines))
    for line in sorted(set(lines)):
        if any(near_lines is None or abs(other - line) <= near_lines for other in sorted_others):
            return line
    return 0
