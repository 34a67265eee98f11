"""The user's identity file, `SOUL.md` in the home directory, scanned and truncated.

Reports problems with the file; the prompt decides on a replacement.
"""

from contextlib import suppress
from pathlib import Path

from prompt_engine.facts import SourcedText
from prompt_engine.findings import ThreatScan
from prompt_engine.sources.file_reading import ReadFailure
from prompt_engine.sources.user_files import read_user_file
from prompt_engine.truncation import MIN_FILE_CHARACTERS, truncate
from prompt_engine.trust import (
    TrustCheck,
    describe_findings,
    scan_file_text,
    sha256_of,
    trust_nothing,
)

SOUL_FILE_NAME = "SOUL.md"
HOME_MODE = 0o700


def read_soul(
    home: Path,
    scan: ThreatScan,
    max_characters: int = MIN_FILE_CHARACTERS,
    is_trusted: TrustCheck = trust_nothing,
    *,
    creates_home: bool = True,
) -> SourcedText:
    """Return the user's identity, or a text-less result that states why there is none.

    With `creates_home` a missing home directory is created, accessible only by its owner.
    """
    if creates_home:
        with suppress(OSError):  # if it cannot be created, SOUL.md is reported as absent below
            home.mkdir(mode=HOME_MODE, parents=True, exist_ok=True)
    source = str(home / SOUL_FILE_NAME)
    file = read_user_file(home / SOUL_FILE_NAME)
    if file is None:
        return SourcedText("", source, "absent", "there is no such file")
    if isinstance(file, ReadFailure):
        return SourcedText("", source, "dropped", file.reason)
    text = file.text.strip()
    if not text:
        return SourcedText("", source, "absent", "the file is empty")
    verdict = scan_file_text(text, scan, lambda: is_trusted(file.real_path, sha256_of(file.raw)))
    if verdict.is_blocked:
        return SourcedText("", source, "blocked", describe_findings(verdict.findings))
    shown = truncate(text, max_characters, source)
    if not shown.is_cut:
        return SourcedText(text, source)
    reason = f"{shown.kept_characters:,} of {shown.total_characters:,} characters are shown"
    return SourcedText(shown.text, source, "truncated", reason)
