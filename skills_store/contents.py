"""What may stand in the files of a skill: how long, and a SKILL.md that is one. Pure."""

import re
from collections.abc import Iterator

from skills_store.document import check_created, parse
from skills_store.errors import InvalidSkillError
from skills_store.refusals import ContentRefusedError
from skills_store.skill import MOST_DOCUMENT_CHARACTERS, MOST_FILE_BYTES, SKILL_FILE, Problem

_NUMBER = re.compile(r"\d+")


def new_document(name: str, text: str) -> bytes:
    """Return the bytes of a SKILL.md that is to be made: the standard's, without exception.

    Raises:
        InvalidSkillError: it is not.
    """
    problems = check_created(name, text)
    if problems:
        raise InvalidSkillError(name, problems)
    return text.encode()


def changed_document(name: str, text: str, old: str) -> bytes:
    """Return the bytes of a SKILL.md that is to be changed.

    It may keep what was wrong with the old one, for many were written for looser readers; it may
    not get worse. One that could not be loaded at all need only become loadable.

    Raises:
        InvalidSkillError: it has a fault the old one had not.
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
    """Return the bytes of another file of a skill.

    Raises:
        ContentRefusedError: it is too long, or cannot be written.
    """
    data = encoded(path, text)
    if len(data) > MOST_FILE_BYTES:
        reason = f"it has {len(data)} bytes, {MOST_FILE_BYTES} may be; keep what matters"
        raise ContentRefusedError(path, reason)
    return data


def encoded(path: str, text: str) -> bytes:
    """Return the bytes of a text.

    Raises:
        ContentRefusedError: it holds half a character.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        reason = f"it holds half a character at position {error.start}"
        raise ContentRefusedError(path, reason) from None


def decoded(path: str, data: bytes) -> str:
    """Return the text of a file that is to be changed in part.

    Raises:
        ContentRefusedError: it is no UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = f"it is no UTF-8 text (byte {error.start}); replace it as a whole"
        raise ContentRefusedError(path, reason) from None


def _growth(text: str, old: str) -> Iterator[Problem]:
    """Yield a fault when a text is too long; one that was may become shorter step by step."""
    if len(text) > max(MOST_DOCUMENT_CHARACTERS, len(old)):
        what = f"it has {len(text)} characters, more than {MOST_DOCUMENT_CHARACTERS}"
        yield Problem(1, what)


def _kind_of(problem: Problem) -> str:
    """Return what is wrong, without the figures: one fault stays the same fault while it grows."""
    return _NUMBER.sub("#", problem.text)
