"""What a user can choose for a session from pickers, in order of importance."""

from dataclasses import dataclass

from acp_server.session.errors import InvalidValueError, UnknownOptionError
from acp_server.session.modes import MODE_IDS, MODES, Mode, is_mode

MODE_OPTION = "mode"


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an option."""

    value: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Option:
    """A picker: its values and the one that holds. `category` is ACP's word for its meaning."""

    id: str
    name: str
    description: str
    category: str
    current: str
    choices: tuple[Choice, ...]


def mode_option(current: Mode) -> Option:
    """Return the modes as a picker, for editors that show options only."""
    choices = tuple(Choice(mode.id, mode.name, mode.description) for mode in MODES)
    description = "How much the agent may do without asking"
    return Option(MODE_OPTION, "Mode", description, "mode", current, choices)


def mode_from_option(option_id: str, value: object) -> Mode:
    """Return the mode that a choice stands for.

    Raises:
        UnknownOptionError: there is no such option.
        InvalidValueError: the option has no such value.
    """
    if option_id != MODE_OPTION:
        raise UnknownOptionError(option_id, MODE_OPTION)
    if not is_mode(value):
        raise InvalidValueError(option_id, value, MODE_IDS)
    return value
