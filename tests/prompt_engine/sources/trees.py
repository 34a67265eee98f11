"""Directory trees for tests, and a scanner that knows one bad word."""

from collections.abc import Mapping
from pathlib import Path

from prompt_engine.findings import ScanScope, ThreatFinding

BAD_WORD = "ATTACK"


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a directory; a name that ends in `/` is a directory."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def scan(text: str, scope: ScanScope) -> tuple[ThreatFinding, ...]:
    """Find the bad word."""
    del scope
    lines = enumerate(text.split("\n"), 1)
    return tuple(
        ThreatFinding("bad-word", "context", number, 1)
        for number, line in lines
        if BAD_WORD in line
    )
