"""Keys of the config.yaml shared with Hermes that have no effect here, safety rules first.

A safety rule that is dropped silently is worse than none, because the user relies on it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import cast

from acp_server.config.table import names_by_setting
from acp_server.startup.fast_dataclass import frozen_dataclass

RESTRICTING_SECTIONS = ("approvals", "hooks", "security", "privacy", "terminal", "code_execution")
"""Sections of Hermes whose keys restrict what the agent may do, or where."""

ALWAYS_SO: Mapping[str, object] = {
    "security.redact_secrets": True,
    "security.allow_private_urls": False,
    "terminal.backend": "local",
    "terminal.cwd": ".",
}
"""Keys that are not read, with the value that this server always behaves by."""


@frozen_dataclass
class UnusedKey:
    """A key that is set and not used."""

    key: str
    """The dotted key: of the value, or of a whole section without safety rules."""
    is_safety_rule: bool

    @property
    def reason(self) -> str:
        """The consequence, as a predicate for the key."""
        return "restricts Hermes, but not this server" if self.is_safety_rule else "is not used"


def find_unused_keys(document: Mapping[str, object]) -> tuple[UnusedKey, ...]:
    """Return the keys of a parsed file that have no effect, safety rules first."""
    found = tuple(_unused_below(document, ""))
    return tuple(sorted(found, key=lambda each: not each.is_safety_rule))


def describe_unused_keys(found: Iterable[UnusedKey]) -> tuple[str, ...]:
    """Return a line for each safety rule, and one for all other keys."""
    found = tuple(found)
    lines = [f"{each.key}: {each.reason}" for each in found if each.is_safety_rule]
    others = [each.key for each in found if not each.is_safety_rule]
    return (*lines, *([f"not used: {', '.join(others)}"] if others else []))


def _unused_below(mapping: Mapping[str, object], prefix: str) -> Iterator[UnusedKey]:
    for name, value in mapping.items():
        key = f"{prefix}{name}"
        is_empty = value is None or value in ("", [], {})
        if is_empty or key in known_keys() or ALWAYS_SO.get(key, ...) == value:
            continue
        is_safety_rule = key.partition(".")[0] in RESTRICTING_SECTIONS
        if isinstance(value, Mapping) and (is_safety_rule or key in sections_of(known_keys())):
            yield from _unused_below(cast("Mapping[str, object]", value), f"{key}.")
        elif key not in sections_of(known_keys()):  # else `model: NAME`, or a mistake
            yield UnusedKey(key, is_safety_rule)


@cache
def known_keys() -> frozenset[str]:
    """Return the dotted keys of all settings, old ones included."""
    return frozenset(key for keys in names_by_setting("key").values() for key in keys)


@cache
def sections_of(keys: frozenset[str]) -> frozenset[str]:
    """Return all proper prefixes of keys, such as `log` of `log.level`."""
    return frozenset(
        ".".join(parts[:depth])
        for parts in (key.split(".") for key in keys)
        for depth in range(1, len(parts))
    )
