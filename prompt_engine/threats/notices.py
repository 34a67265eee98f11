"""Notice that replaces a blocked text, for the model and the user."""

from collections.abc import Sequence

from prompt_engine.findings import ThreatFinding

MAX_LINES_NAMED = 5


def blocked_notice(name: str, findings: Sequence[ThreatFinding]) -> str:
    """Return one line that names the file, the patterns and the lines, without quoting the file.

    The name is made printable, so that it cannot break out of the line.
    """
    printable_name = "".join(character if character.isprintable() else "?" for character in name)
    patterns = dict.fromkeys(finding.pattern for finding in findings)
    reasons: list[str] = []
    for pattern in patterns:
        lines = sorted({finding.line for finding in findings if finding.pattern == pattern})
        numbers = ", ".join(map(str, lines[:MAX_LINES_NAMED]))
        more = f" and {len(lines) - MAX_LINES_NAMED} more" if len(lines) > MAX_LINES_NAMED else ""
        reasons.append(f"{pattern} ({'line' if len(lines) == 1 else 'lines'} {numbers}{more})")
    return f"[{printable_name} was blocked: {', '.join(reasons)}]"
