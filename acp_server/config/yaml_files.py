"""Parsing of YAML settings texts, with error messages that never contain values.

Imports PyYAML, so import this module only if there is a file to parse. Reads no file.
"""

from typing import cast

import yaml
from yaml.nodes import Node

UNWRAPPED_YAML_ERRORS = (ValueError, LookupError, AttributeError, RecursionError)
"""Errors that PyYAML does not wrap: for the date 2001-99-99, a bad tag, or 10,000 nested [."""


class InvalidYamlError(ValueError):
    """The text is not valid YAML. Has the line number and reason, but no content: secrets."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(f"not YAML{f' at line {line}' if line else ''}{reason and f': {reason}'}")
        self.reason = reason
        self.line = line
        """Line number from 1; None if unknown."""


class NotAMappingError(ValueError):
    """The document is not a mapping of keys to values."""

    def __init__(self) -> None:
        super().__init__("must be a mapping of keys to values")


def parse_mapping(text: str) -> dict[str, object]:
    """Parse a YAML mapping; an empty text is an empty mapping.

    Raises:
        InvalidYamlError: The text is not valid YAML.
        NotAMappingError: The document is not a mapping.
    """
    try:
        document: object = yaml.safe_load(text)
    except (yaml.YAMLError, *UNWRAPPED_YAML_ERRORS) as error:
        raise _invalid_yaml_error(error) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise NotAMappingError
    return {str(key): value for key, value in cast("dict[object, object]", document).items()}


def compose_nodes(text: str) -> Node | None:
    """Return the node tree of a text, with line numbers; None if it is empty.

    Raises:
        InvalidYamlError: The text is not valid YAML.
    """
    try:
        return yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, *UNWRAPPED_YAML_ERRORS) as error:
        raise _invalid_yaml_error(error) from None


def _invalid_yaml_error(error: Exception) -> InvalidYamlError:
    reason, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    return InvalidYamlError(reason or "", mark.line + 1 if mark is not None else None)
