"""The options of a session that a user can select from pickers, most important first."""

from collections.abc import Sequence

from acp_server.permissions.modes import MODES, Mode
from acp_server.permissions.network_access import (
    NETWORK_LEVELS,
    PORT_LEVELS,
    AccessLevel,
    LevelId,
    NetworkAccess,
    PortAccess,
)
from acp_server.session.errors import InvalidValueError, UnknownOptionError
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.startup.fast_dataclass import frozen_dataclass

MODE_OPTION = "mode"
MODEL_OPTION = "model"
THOUGHT_OPTION = "thought_level"
NETWORK_OPTION = "network"
PORTS_OPTION = "ports"
FAST_OPTION = "fast_mode"
ON = "on"
OFF = "off"
SPEEDS = (OFF, ON)
"""The values of options that are either on or off."""


@frozen_dataclass
class OptionSelection:
    """The current values of a session's options."""

    mode: Mode
    model_id: str
    thought_level: str | None
    network: NetworkAccess | None = None
    """None if commands are not sandboxed."""
    ports: PortAccess | None = None
    """None if commands are not sandboxed."""
    speed: str = OFF
    """Whether fast mode is on; ignored for a model that has none."""


@frozen_dataclass
class OptionValue:
    """One value of an option."""

    value: str
    name: str
    description: str


@frozen_dataclass
class Option:
    """A picker with its values and the current one. `category` is ACP's name for its meaning."""

    id: str
    name: str
    description: str
    category: str
    current: str
    values: tuple[OptionValue, ...]
    is_switch: bool = False
    """Whether the values are `on` and `off`, which some clients show as a switch."""


def build_options(chosen: OptionSelection, catalog: ModelCatalog) -> tuple[Option, ...]:
    """Return the options of a session, without those that offer no choice."""
    options = (
        _mode_option(chosen.mode),
        _model_option(chosen.model_id, catalog),
        _thought_option(chosen, catalog),
        _fast_option(chosen, catalog),
        _network_option(chosen.network),
        _ports_option(chosen.ports),
    )
    return tuple(option for option in options if option is not None)


def select_value(option_id: str, value: object, options: tuple[Option, ...]) -> str:
    """Return the option value that matches the requested one.

    Raises:
        UnknownOptionError: there is no such option.
        InvalidValueError: the option has no such value.
    """
    option = next((option for option in options if option.id == option_id), None)
    if option is None:
        raise UnknownOptionError(option_id, ", ".join(option.id for option in options))
    if option.is_switch and isinstance(value, bool):
        return SPEEDS[value]
    for choice in option.values:
        if choice.value == value:
            return choice.value
    known = ", ".join(choice.value for choice in option.values)
    raise InvalidValueError(option_id, value, known)


def _mode_option(current: Mode) -> Option:
    choices = tuple(OptionValue(mode.id, mode.name, mode.description) for mode in MODES)
    description = "How much the agent may do without asking"
    return Option(MODE_OPTION, "Mode", description, "mode", current, choices)


def _model_option(current: str, catalog: ModelCatalog) -> Option:
    choices = [OptionValue(model.id, model.name, model.description) for model in catalog.choices()]
    # ACP requires the current value among the choices; a restored model may have left the catalog.
    if all(choice.value != current for choice in choices):
        choices.insert(0, OptionValue(current, current, ""))
    return Option(MODEL_OPTION, "Model", "The model that answers", "model", current, tuple(choices))


def _thought_option(chosen: OptionSelection, catalog: ModelCatalog) -> Option | None:
    levels = catalog.thought_levels(chosen.model_id)
    if not levels or chosen.thought_level is None:
        return None
    choices = tuple(OptionValue(level, level.capitalize(), "") for level in levels)
    description = "How deeply the model thinks before it answers"
    return Option(
        THOUGHT_OPTION, "Thinking", description, "thought_level", chosen.thought_level, choices
    )


def _fast_option(chosen: OptionSelection, catalog: ModelCatalog) -> Option | None:
    about = catalog.describe_fast_mode(chosen.model_id)
    if about is None:
        return None
    choices = (OptionValue(OFF, "Off", "Normal speed and price"), OptionValue(ON, "On", about))
    return Option(
        FAST_OPTION, "Fast mode", about, "model_config", chosen.speed, choices, is_switch=True
    )


def _network_option(current: NetworkAccess | None) -> Option | None:
    if current is None:
        return None
    description = "What commands in the sandbox can connect to"
    values = _level_values(NETWORK_LEVELS)
    return Option(NETWORK_OPTION, "Network for commands", description, "_network", current, values)


def _ports_option(current: PortAccess | None) -> Option | None:
    if current is None:
        return None
    description = "Whether this machine can connect to servers of commands in the sandbox"
    values = _level_values(PORT_LEVELS)
    return Option(PORTS_OPTION, "Ports of commands", description, "_network", current, values)


def _level_values(levels: Sequence[AccessLevel[LevelId]]) -> tuple[OptionValue, ...]:
    return tuple(OptionValue(each.id, each.name, each.description) for each in levels)
