"""Keys of the config.yaml shared with Hermes that have no effect here, safety rules first.

A safety rule that is dropped silently is worse than none, because the user relies on it.
`hermes_keys.toml` says which keys are safety rules, and what holds here instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import cast

from acp_server.config.named_providers import PROVIDER_KEYS
from acp_server.config.table import names_by_setting
from acp_server.startup.fast_dataclass import frozen_dataclass

NOT_USED = "is not used"


@frozen_dataclass
class UnusedKey:
    """A key that is set and not used."""

    key: str
    """The dotted key: of the value, or of a whole section without safety rules."""
    reason: str = NOT_USED
    """The consequence."""
    is_safety_rule: bool = False


@frozen_dataclass
class _HermesKeys:
    """Facts about keys of Hermes."""

    restricting: Mapping[str, str]
    """By key: what holds here instead. A key stands for all below it."""
    always: Mapping[str, object]
    """Keys that are not read, with the value that this server behaves by anyway."""
    silent: frozenset[str]
    """Keys whose value does not matter here."""
    values: Mapping[str, Mapping[str, str]]
    """By key that is read: values that are not, and what holds instead."""

    def consequence(self, key: str) -> str | None:
        """Return what holds here instead of a safety rule; None for any other key."""
        parts = key.split(".")
        prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((self.restricting[each] for each in prefixes if each in self.restricting), None)


def find_unused_keys(document: Mapping[str, object]) -> tuple[UnusedKey, ...]:
    """Return the keys of a parsed file that have no effect, safety rules first."""
    found = (*_unused_below(document, ""), *_unused_of_endpoints(document))
    return tuple(sorted(found, key=lambda each: not each.is_safety_rule))


def describe_unused_keys(found: Iterable[UnusedKey]) -> tuple[str, ...]:
    """Return a line for each key."""
    return tuple(f"{each.key}: {each.reason}" for each in found)


def _unused_below(mapping: Mapping[str, object], prefix: str) -> Iterator[UnusedKey]:
    for name, value in mapping.items():
        key = f"{prefix}{name}"
        is_empty = value is None or value in ("", [], {})
        hermes_keys = _read_hermes_keys()
        other_effect = hermes_keys.values.get(key, {}).get(str(value))
        if other_effect is not None:
            yield UnusedKey(key, other_effect, is_safety_rule=True)
        if is_empty or key in known_keys():
            continue
        if key in hermes_keys.silent or hermes_keys.always.get(key, ...) == value:
            continue
        consequence = hermes_keys.consequence(key)
        holds_rules = consequence is not None or key in sections_of(frozenset(hermes_keys.always))
        if isinstance(value, Mapping) and (holds_rules or key in sections_of(known_keys())):
            yield from _unused_below(cast("Mapping[str, object]", value), f"{key}.")
        elif key not in sections_of(known_keys()):  # else `model: NAME`, or a mistake
            yield UnusedKey(key, consequence or NOT_USED, consequence is not None)


def _unused_of_endpoints(document: Mapping[str, object]) -> Iterator[UnusedKey]:
    """Yield the keys of named endpoints that have no effect."""
    for section in ("providers", "custom_providers"):
        value = document.get(section)
        entries: Iterable[tuple[object, object]] = ()
        if isinstance(value, Mapping):
            entries = cast("Mapping[object, object]", value).items()
        elif isinstance(value, list):
            entries = enumerate(cast("list[object]", value))
        for name, entry in entries:
            if isinstance(entry, Mapping):
                for key in cast("Mapping[object, object]", entry):
                    if key not in PROVIDER_KEYS:
                        yield UnusedKey(f"{section}.{name}.{key}")


@cache
def _read_hermes_keys() -> _HermesKeys:
    import tomllib

    text = Path(__file__).with_name("hermes_keys.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return _HermesKeys(
        table["restricting"], table["always"], frozenset(table["silent"]["keys"]), table["values"]
    )


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
