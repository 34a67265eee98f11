"""Curator summary: a YAML block at the end of the curator's answer that lists its changes.

    consolidations:
      - from: pdf-read
        into: pdf
        reason: The same tool, read and written.
    prunings: []

Lenient about its position, strict about its content.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from skills_store.json_file import Json
from skills_store.plain_yaml import PlainYamlError, parse

_FENCED = re.compile(r"^```(?:ya?ml)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_KEYS = ("consolidations", "prunings")


class CuratorSummaryError(ValueError):
    """The block is missing or not valid; the message is for the model."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A skill whose content moved into another one."""

    source: str
    into: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pruning:
    """A skill that was archived without a successor."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class CuratorSummary:
    """All archived skills according to the curator."""

    consolidations: tuple[Consolidation, ...] = ()
    prunings: tuple[Pruning, ...] = ()


def parse_summary(answer: str) -> CuratorSummary:
    r"""Return the last block of an answer that has one of the two lists.

    >>> parse_summary("Done.\n```yaml\nconsolidations: []\nprunings: []\n```")
    CuratorSummary(consolidations=(), prunings=())

    Raises:
        CuratorSummaryError: There is none, or it is not valid.
    """
    texts = [found[1] for found in _FENCED.finditer(answer)] or [answer]
    text = next((each for each in reversed(texts) if "consolidations:" in each), None)
    if text is None:
        message = "there is no YAML block with the lists `consolidations` and `prunings`"
        raise CuratorSummaryError(message)
    try:
        values = parse(text).values
    except PlainYamlError as error:
        message = f"the block is no YAML (its line {error.line}): {error}"
        raise CuratorSummaryError(message) from None
    unknown = [key for key in values if key not in _KEYS]
    if unknown or len(values) != len(_KEYS):
        message = f"the block holds the two lists {' and '.join(_KEYS)}, `[]` if one is empty"
        raise CuratorSummaryError(message)
    consolidations = _entries(values, "consolidations", ("from", "into", "reason"))
    prunings = _entries(values, "prunings", ("name", "reason"))
    return CuratorSummary(
        tuple(Consolidation(*each) for each in consolidations),
        tuple(Pruning(*each) for each in prunings),
    )


def _entries(values: dict[str, Json], key: str, fields: tuple[str, ...]) -> Iterator[list[str]]:
    found = values[key]
    if not isinstance(found, list):
        message = f"`{key}` is no list; an empty one is written `[]`"
        raise CuratorSummaryError(message)
    for entry in found:
        entry_fields = cast("dict[str, Json]", entry) if isinstance(entry, dict) else {}
        texts = [str(entry_fields.get(field) or "").strip() for field in fields]
        if set(entry_fields) != set(fields) or not all(texts):
            message = f"an entry of `{key}` needs {', '.join(fields)}, each with a text, no more"
            raise CuratorSummaryError(message)
        yield texts
