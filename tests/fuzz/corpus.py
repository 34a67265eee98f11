"""Saved fuzzing inputs: hand-written seeds, and every input that ever failed."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus")


def files_of(target: str) -> Sequence[Path]:
    """Return the corpus files of a target."""
    return sorted((CORPUS / target).iterdir())


def inputs_of(target: str) -> Sequence[bytes]:
    """Return the inputs of a target."""
    return [path.read_bytes() for path in files_of(target)]


def save(target: str, data: bytes) -> Path:
    """Save a failing input under its digest; return the path."""
    path = CORPUS / target / f"found-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path
