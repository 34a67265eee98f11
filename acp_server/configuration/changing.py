"""Changes of a few keys in a file of settings, which is a person's: the rest stays as it is.

Only the section that is changed is written anew; comments within it are lost. Reads no file.
"""

from collections.abc import Mapping
from typing import cast

import yaml
from yaml.nodes import MappingNode

from acp_server.configuration.yaml_files import composed, parsed


def with_section(text: str, section: str, changes: Mapping[str, object], short_key: str) -> str:
    """Return a text of settings with keys of a top-level section changed; None removes one.

    A section that is a plain value is the value of its `short_key`.

    Raises:
        ValueError: the text is no YAML of keys and values.
    """
    current = parsed(text).get(section)
    held: dict[str, object] = {short_key: current} if current else {}
    if isinstance(current, dict):
        held = cast("dict[str, object]", current)
    merged = {**held, **changes}
    merged = {key: value for key, value in merged.items() if value is not None}
    block = yaml.safe_dump({section: merged}, sort_keys=False, allow_unicode=True)
    place = _lines_of(text, section)
    lines = text.splitlines(keepends=True)
    if place is None:
        before = text if not text or text.endswith("\n") else f"{text}\n"
        return f"{before}{block}"
    first, behind = place
    return "".join([*lines[:first], block, *lines[behind:]])


def _lines_of(text: str, section: str) -> tuple[int, int] | None:
    """Return the first line of a section, and the one behind its last, from 0."""
    root = composed(text)
    if not isinstance(root, MappingNode):
        return None
    for key, value in root.value:
        if key.value == section:
            end = value.end_mark
            return key.start_mark.line, end.line + (1 if end.column else 0)
    return None
