"""What happens to a text in which a scan found something: a line instead, unless it is trusted.

Trust is in one content of one file: by path and SHA-256 of its bytes. Where trust is kept is the
caller's; any change of the file ends it by itself.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prompt_engine.findings import Finding, Scan

Trusted = Callable[[Path, str], bool]
"""Whether the user trusts a file, by its resolved path, as long as its SHA-256 (hex) is this."""

_MOST_NAMED = 8


def trust_nothing(path: Path, sha256: str) -> bool:
    """Whether a file is trusted: no."""
    del path, sha256
    return False


def sha256_of(raw: bytes) -> str:
    """Return the digest by which a content is trusted, as `sha256sum` prints it."""
    return hashlib.sha256(raw).hexdigest()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a scan found in a file, and whether the user trusts it all the same."""

    findings: tuple[Finding, ...] = ()
    is_trusted: bool = False

    @property
    def is_blocked(self) -> bool:
        """Whether the text must not reach the model."""
        return bool(self.findings) and not self.is_trusted


def judge(text: str, scan: Scan, is_trusted: Callable[[], bool]) -> Verdict:
    """Scan a whole text as a project's; trust is asked for only when something is found."""
    findings = tuple(scan(text, "context"))
    return Verdict(findings, bool(findings) and is_trusted())


def blocked_line(path: str, findings: Sequence[Finding]) -> str:
    """Return the line that stands for a blocked file: its name, the patterns, the lines.

    >>> blocked_line("AGENTS.md", [Finding("hide-from-user", "context", 3, 1)])
    '[AGENTS.md was blocked and is not shown: hide-from-user in line 3.]'
    """
    return f"[{path} was blocked and is not shown: {told(findings)}.]"


def told(findings: Sequence[Finding]) -> str:
    """Return patterns and line numbers in half a sentence."""
    unique = list(dict.fromkeys((finding.pattern, finding.line) for finding in findings))
    named = "; ".join(f"{pattern} in line {line}" for pattern, line in unique[:_MOST_NAMED])
    more = len(unique) - _MOST_NAMED
    return f"{named}; and {more} more" if more > 0 else named
