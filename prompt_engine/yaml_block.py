"""Parses the YAML of a frontmatter block. Importing this module imports PyYAML, which is slow.

The content is untrusted: aliases, tags and depth are limited.
"""

from datetime import date
from typing import cast

import yaml
from pydantic import JsonValue

MAX_DEPTH = 16

_Loader: type[yaml.SafeLoader | yaml.CSafeLoader] = (
    yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
)


def parse_mapping(block: str) -> dict[str, JsonValue] | None:
    """Parse the block; return None if it is not a mapping.

    Raises:
        ValueError: invalid YAML, a rejected YAML feature, or an invalid number or date.
    """
    try:
        value = _load(block)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _load(block: str) -> JsonValue:
    # Must run before the loader: the loader would already expand aliases.
    _reject_unsafe_yaml(block)
    loader = _Loader(block)
    try:
        return _to_json(cast("object", loader.get_single_data()))
    finally:
        loader.dispose()


def _reject_unsafe_yaml(block: str) -> None:
    """Reject YAML that could expand (aliases), construct objects (tags) or nest too deeply."""
    depth = 0
    for event in yaml.parse(block, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("aliases are not allowed")
        if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None) is not None:
            raise ValueError("tags are not allowed")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")


def _to_json(value: object) -> JsonValue:
    match value:
        case None | str() | bool() | int() | float():
            return value
        case date():
            return value.isoformat()
        case dict():
            pairs = cast("dict[object, object]", value)
            return {str(key): _to_json(each) for key, each in pairs.items()}
        case list():
            return [_to_json(each) for each in cast("list[object]", value)]
        case _:
            return str(value)
