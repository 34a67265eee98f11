"""Scans a file of a skill: applies every pattern to every view of it, then combines the signals.

Time is linear in the size.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import get_args

from prompt_engine.findings import SkillThreat
from prompt_engine.threats.catalogue import Signal, ThreatPattern, skill_pattern_groups
from prompt_engine.threats.exemptions import is_placeholder, uses_only_known_hosts
from prompt_engine.threats.skill_mentions import is_mention
from prompt_engine.threats.skill_views import TextView, hidden_line, text_views

MAX_MATCHES = 30
"""Maximum findings per pattern and view of a file."""
MAX_EXEMPTION_CHECKS = 40
"""Maximum matches per pattern and view checked for an exemption; later ones count unchecked."""
NEAR_LINES = 20
"""Maximum distance in lines, in prose, between reading a secret and sending data to combine them.
"""


def scan_skill_text(text: str, *, is_program: bool) -> Iterator[SkillThreat]:
    """Yield the findings in a text with line feeds as line ends. Never raises, for any text."""
    if line := hidden_line(text):
        description = "contains characters that hide or reorder text"
        yield SkillThreat("obfuscation", "dangerous", description, line)
    signals: dict[Signal, list[int]] = {signal: [] for signal in get_args(Signal)}
    for view in text_views(text):
        for pattern, line in _matches(view, is_program=is_program):
            if pattern.signal:
                signals[pattern.signal].append(line)
            severity, description = pattern.severity, pattern.id
            if view.is_decoded:  # hidden in an encoding
                severity = "dangerous" if severity == "caution" else severity
                description = f"in encoded text: {description}"
            yield SkillThreat(pattern.family, severity, description, line)
    sinks = signals["sink"] + signals["drop-box"]
    if line := _first_line_near(signals["source"], sinks, None if is_program else NEAR_LINES):
        description = "reads secrets and sends something to another machine"
        yield SkillThreat("exfiltration", "dangerous", description, line)
    if is_program and signals["decodes"] and signals["executes"]:
        description = "decodes something and runs text as a program"
        yield SkillThreat("obfuscation", "dangerous", description, min(signals["executes"]))


def _matches(view: TextView, *, is_program: bool) -> Iterator[tuple[ThreatPattern, int]]:
    """Yield the matching patterns and their lines, except exempt matches."""
    data = view.data

    def is_exempt(pattern: ThreatPattern, start: int, end: int) -> bool:
        if pattern.exemption == "placeholders":
            return is_placeholder(data[start:end])
        if pattern.exemption == "known-hosts":
            line_end = data.find(b"\n", end)
            line = data[start : line_end if line_end >= 0 else len(data)]
            if uses_only_known_hosts(line[:500]):
                return True
        return not view.is_decoded and is_mention(data, start, end, is_program=is_program)

    for group in skill_pattern_groups():
        matches = group.matches(data, is_exempt, MAX_EXEMPTION_CHECKS)
        for pattern, start, _ in islice(matches, MAX_MATCHES):
            yield pattern, view.line_at(start)


def _first_line_near(
    lines: Iterable[int], other_lines: Iterable[int], near_lines: int | None
) -> int:
    """Return the first line of `lines` that has one of `other_lines` nearby; 0 if there is none."""
    sorted_others = sorted(set(other_lines))
    for line in sorted(set(lines)):
        if any(near_lines is None or abs(other - line) <= near_lines for other in sorted_others):
            return line
    return 0
