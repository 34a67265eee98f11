"""The user's identity file, `SOUL.md` in the home directory, scanned and truncated.

Reports problems with the file; the prompt decides on a replacement.
"""

from contextlib import suppress
from pathlib import Path

from prompt_engine.facts import Passage
from prompt_engine.findings import Scan
from prompt_engine.sources.file_reading import Unread
from prompt_engine.sources.user_files import OwnText, read_own
from prompt_engine.truncation import LEAST_CAP_CHARACTERS, truncate
from prompt_engine.trust import Trusted, judge, sha256_of, told, trust_nothing

NAME = "SOUL.md"
HOME_MODE = 0o700


def read_soul(
    home: Path,
    scan: Scan,
    max_characters: int = LEAST_CAP_CHARACTERS,
    is_trusted: Trusted = trust_nothing,
) -> Passage:
    """Return the user's identity, or a text-less result that states why there is none.

    Creates a missing home directory, accessible only by its owner.
    """
    with suppress(OSError):  # if it cannot be created, SOUL.md is reported as absent below
        home.mkdir(mode=HOME_MODE, parents=True, exist_ok=True)
    source = str(home / NAME)
    match read_own(home / NAME):
        case None:
            return Passage("", source, "absent", "there is no such file")
        case Unread(_, reason):
            return Passage("", source, "dropped", reason)
        case OwnText() as file:
            return _judged(file, source, scan, max_characters, is_trusted)


def _judged(
    file: OwnText, source: str, scan: Scan, max_characters: int, is_trusted: Trusted
) -> Passage:
    text = file.text.strip()
    if not text:
        return Passage("", source, "absent", "the file is empty")
    verdict = judge(text, scan, lambda: is_trusted(file.real_path, sha256_of(file.raw)))
    if verdict.is_blocked:
        return Passage("", source, "blocked", told(verdict.findings))
    return _fitted(text, max_characters, source)


def _fitted(text: str, max_characters: int, source: str) -> Passage:
    cut = truncate(text, max_characters, source)
    if not cut.is_cut:
        return Passage(text, source)
    reason = f"{cut.kept_characters:,} of {cut.total_characters:,} characters are shown"
    return Passage(cut.text, source, "truncated", reason)
