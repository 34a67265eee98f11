"""Edits a few keys in the text of the user's config.yaml and keeps the rest as it is.

Only the changed section is rewritten; comments within it are lost. Reads no file.
"""

from collections.abc import Mapping
from typing import cast

import yaml
from yaml.nodes import MappingNode

from acp_server.config.yaml_files import compose_nodes, parse_mapping


def update_section(text: str, section: str, changes: Mapping[str, object], short_key: str) -> str:
    """Return a YAML text with keys of one top-level section changed; None removes a key.

    A section that holds a plain value is treated as a mapping with that value at `short_key`.

    Raises:
        ValueError: The text is not YAML, or not a mapping.
    """
    current = parse_mapping(text).get(section)
    existing: dict[str, object] = {short_key: current} if current else {}
    if isinstance(current, dict):
        existing = cast("dict[str, object]", current)
    merged = {**existing, **changes}
    merged = {key: value for key, value in merged.items() if value is not None}
    block = yaml.safe_dump({section: merged}, sort_keys=False, allow_unicode=True)
    line_range = _section_lines(text, section)
    lines = text.splitlines(keepends=True)
    if line_range is None:
        before = text if not text or text.endswith("\n") else f"{text}\n"
        return f"{before}{block}"
    first, end = line_range
    return "".join([*lines[:first], block, *lines[end:]])


def _section_lines(text: str, section: str) -> tuple[int, int] | None:
    """Return a section's first line and the line after its last, counted from 0."""
    root = compose_nodes(text)
    if not isinstance(root, MappingNode):
        return None
    for key, value in root.value:
        if key.value == section:
            end = value.end_mark
            return key.start_mark.line, end.line + (1 if end.column else 0)
    return None
