"""Validate and encode the contents of skill files. No I/O."""

import re
from collections.abc import Iterator

from skills_store.document import check_created, parse
from skills_store.errors import InvalidSkillError
from skills_store.skill import MOST_DOCUMENT_CHARACTERS, MOST_FILE_BYTES, SKILL_FILE, Problem
from skills_store.write_errors import ContentRefusedError

_NUMBER = re.compile(r"\d+")


def new_document(name: str, text: str) -> bytes:
    """Return the bytes of a new SKILL.md, which must follow the standard strictly.

    Raises:
        InvalidSkillError: It does not.
    """
    problems = check_created(name, text)
    if problems:
        raise InvalidSkillError(name, problems)
    return text.encode()


def changed_document(name: str, text: str, old: str) -> bytes:
    """Return the bytes of a changed SKILL.md.

    Problems of the old text may stay, because many skills were written for lenient readers, but no
    new kind may be added. If the old text could not be loaded, the new one only has to be loadable.

    Raises:
        InvalidSkillError: It has a problem that the old text did not have.
    """
    document = parse(text, name)
    before = parse(old, name)
    fatal = tuple(problem for problem in document.problems if problem.is_fatal)
    if fatal or not before.is_usable:
        faults = fatal
    else:
        known = {_kind_of(problem) for problem in check_created(name, old)}
        faults = tuple(each for each in check_created(name, text) if _kind_of(each) not in known)
    if not faults:
        faults = tuple(_growth(text, old))
    if not faults and document.name not in {name, before.name}:
        faults = (Problem(1, f"its name must be {name!r}, not {document.name!r}"),)
    if faults:
        raise InvalidSkillError(name, faults)
    return encoded(SKILL_FILE, text)


def new_file(path: str, text: str) -> bytes:
    """Return the bytes of a support file.

    Raises:
        InvalidContentError: It is too long, or cannot be encoded.
    """
    data = encoded(path, text)
    if len(data) > MOST_FILE_BYTES:
        reason = f"it has {len(data)} bytes, {MOST_FILE_BYTES} may be; keep what matters"
        raise ContentRefusedError(path, reason)
    return data


def encoded(path: str, text: str) -> bytes:
    """Encode a text as UTF-8.

    Raises:
        InvalidContentError: It contains a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        reason = f"it holds half a character at position {error.start}"
        raise ContentRefusedError(path, reason) from None


def decoded(path: str, data: bytes) -> str:
    """Decode a file for patching.

    Raises:
        InvalidContentError: It is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = f"it is no UTF-8 text (byte {error.start}); replace it as a whole"
        raise ContentRefusedError(path, reason) from None


def _growth(text: str, old: str) -> Iterator[Problem]:
    """Yield a problem if a text is too long, unless it is no longer than the old one."""
    if len(text) > max(MOST_DOCUMENT_CHARACTERS, len(old)):
        what = f"it has {len(text)} characters, more than {MOST_DOCUMENT_CHARACTERS}"
        yield Problem(1, what)


def _kind_of(problem: Problem) -> str:
    """Return a problem's text without numbers: the same problem at another size is no new one."""
    return _NUMBER.sub("#", problem.text)
