"""Validate and encode the contents of skill files. No I/O."""

import re

from skills_store.document import parse_document, validate_new_document
from skills_store.errors import InvalidSkillError
from skills_store.skill import MAX_DOCUMENT_CHARACTERS, MAX_FILE_BYTES, SKILL_FILE, DocumentProblem
from skills_store.write_errors import InvalidContentError

_NUMBER = re.compile(r"\d+")


def encode_new_document(name: str, text: str) -> bytes:
    """Return the bytes of a new SKILL.md, which must follow the standard strictly.

    Raises:
        InvalidSkillError: It does not.
    """
    problems = validate_new_document(name, text)
    if problems:
        raise InvalidSkillError(name, problems)
    return text.encode()


def encode_changed_document(name: str, text: str, old: str) -> bytes:
    """Return the bytes of a changed SKILL.md.

    Problems of the old text may stay, because many skills were written for lenient readers, but no
    new kind may be added. If the old text could not be loaded, the new one only has to be loadable.

    Raises:
        InvalidSkillError: It has a problem that the old text did not have.
    """
    document = parse_document(text, name)
    old_document = parse_document(old, name)
    fatal = tuple(problem for problem in document.problems if problem.is_fatal)
    if fatal or not old_document.is_usable:
        problems = fatal
    else:
        known = {_problem_kind(problem) for problem in validate_new_document(name, old)}
        problems = tuple(
            each for each in validate_new_document(name, text) if _problem_kind(each) not in known
        )
    if not problems and len(text) > max(MAX_DOCUMENT_CHARACTERS, len(old)):
        reason = f"it has {len(text)} characters, more than {MAX_DOCUMENT_CHARACTERS}"
        problems = (DocumentProblem(1, reason),)
    if not problems and document.name not in {name, old_document.name}:
        problems = (DocumentProblem(1, f"its name must be {name!r}, not {document.name!r}"),)
    if problems:
        raise InvalidSkillError(name, problems)
    return encode(SKILL_FILE, text)


def encode_file(path: str, text: str) -> bytes:
    """Return the bytes of a support file.

    Raises:
        InvalidContentError: It is too long, or cannot be encoded.
    """
    data = encode(path, text)
    if len(data) > MAX_FILE_BYTES:
        reason = f"it has {len(data)} bytes, {MAX_FILE_BYTES} may be; keep what matters"
        raise InvalidContentError(path, reason)
    return data


def encode(path: str, text: str) -> bytes:
    """Encode a text as UTF-8.

    Raises:
        InvalidContentError: It contains a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        reason = f"it holds half a character at position {error.start}"
        raise InvalidContentError(path, reason) from None


def decode(path: str, data: bytes) -> str:
    """Decode a file for patching.

    Raises:
        InvalidContentError: It is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = f"it is no UTF-8 text (byte {error.start}); replace it as a whole"
        raise InvalidContentError(path, reason) from None


def _problem_kind(problem: DocumentProblem) -> str:
    """Return a problem's text without numbers: the same problem at another size is no new one."""
    return _NUMBER.sub("#", problem.text)
