"""YAML as settings are written in it: what a text holds, or why it is none.

Imports the parser, so it is imported itself only when there is a file. Reads no file.
"""

from typing import cast

import yaml
from yaml.nodes import Node

SLIPS = (ValueError, LookupError, AttributeError, RecursionError)
"""What PyYAML lets out for a date of 2001-99-99, a tag that does not fit, or ten thousand ["""


class NotYamlError(ValueError):
    """A text that is no YAML. Says where and how it breaks; never the line itself: secrets."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(f"not YAML{f' at line {line}' if line else ''}{reason and f': {reason}'}")
        self.reason = reason
        self.line = line
        """The line in question, from 1, where it is known."""


class NoMappingError(ValueError):
    """A document that is no mapping of keys to values."""

    def __init__(self) -> None:
        super().__init__("must be a mapping of keys to values")


def parsed(text: str) -> dict[str, object]:
    """Return what a text holds, by key; nothing if it is empty.

    Raises:
        NotYamlError: it is no YAML.
        NoMappingError: it is something else than keys and values.
    """
    try:
        document: object = yaml.safe_load(text)
    except (yaml.YAMLError, *SLIPS) as error:
        raise _told(error) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise NoMappingError
    return {str(key): value for key, value in cast("dict[object, object]", document).items()}


def composed(text: str) -> Node | None:
    """Return the nodes of a text, which know their lines; None if it is empty.

    Raises:
        NotYamlError: it is no YAML.
    """
    try:
        return yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, *SLIPS) as error:
        raise _told(error) from None


def _told(error: Exception) -> NotYamlError:
    reason, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    return NotYamlError(reason or "", mark.line + 1 if mark is not None else None)
