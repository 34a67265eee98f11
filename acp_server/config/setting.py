"""Declares settings: `setting` makes a field of a config class a setting, with its names.

A config class with settings belongs to the subsystem that it configures; `config/table.py` lists
these classes.
"""

from dataclasses import field
from typing import Literal, TypeVar

from acp_server.startup.fast_dataclass import frozen_dataclass

T = TypeVar("T")
NameKind = Literal["key", "variable", "option"]
SOURCE = "source"
"""Key of a field's metadata for its `SettingSource`."""


@frozen_dataclass
class SettingSource:
    """A setting's description, and its names in files, in the environment and as an option.

    Old names still work: `config check` reports them, nothing else shows them. So do the names
    that Hermes has for the same.
    """

    description: str
    key: str = ""
    variable: str = ""
    option: str = ""
    old_keys: tuple[str, ...] = ()
    old_variables: tuple[str, ...] = ()
    hermes_keys: tuple[str, ...] = ()
    name: str = ""
    """Name in `config show --json` if it is not the key with `_` in place of dots."""

    def names(self, kind: NameKind) -> tuple[str, ...]:
        """Return the names of one kind, the current one first; empty if there is none."""
        names = {
            "key": (self.key, *self.old_keys, *self.hermes_keys),
            "variable": (self.variable, *self.old_variables),
            "option": (self.option,),
        }
        return tuple(filter(None, names[kind]))


def setting(  # noqa: PLR0913  the columns of the table of settings
    default: T,
    description: str,
    key: str = "",
    variable: str = "",
    option: str = "",
    *,
    old_keys: tuple[str, ...] = (),
    old_variables: tuple[str, ...] = (),
    hermes_keys: tuple[str, ...] = (),
    name: str = "",
) -> T:
    """Return a field of a frozen dataclass for a setting; the annotation validates its values."""
    source = SettingSource(
        description, key, variable, option, old_keys, old_variables, hermes_keys, name
    )
    if default == {}:  # a dataclass accepts no mutable default
        return field(default_factory=lambda: default, metadata={SOURCE: source})
    return field(default=default, metadata={SOURCE: source})
