"""The options selected for one session: mode, model, thought level, speed, network and ports."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import anyio

from acp_server.permissions.modes import MODE_IDS, Mode, is_mode
from acp_server.permissions.network_access import (
    NETWORK_LEVELS,
    PORT_LEVELS,
    NetworkAccess,
    PortAccess,
    select_level,
)
from acp_server.session.errors import UnknownModeError
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.ports.observer import NullObserver, SessionObserver
from acp_server.session.project.options import (
    FAST_OPTION,
    MODE_OPTION,
    MODEL_OPTION,
    NETWORK_OPTION,
    OFF,
    ON,
    PORTS_OPTION,
    SPEEDS,
    Option,
    OptionSelection,
    build_options,
    select_value,
)

MODEL_LIST_SECONDS = 10.0
"""How long to wait for an endpoint's model list; the endpoint may be slow or unreachable."""


def _ignore_change(options: "SelectedOptions") -> None:
    del options


def _ignore_switch(model_id: str) -> None:
    del model_id


@dataclass(slots=True)
class SelectedOptions:
    """The selected options of one session. A running turn keeps the model it started with."""

    catalog: ModelCatalog
    mode: Mode
    chosen_model: str | None = None
    """None for the default model."""
    chosen_level: str | None = None
    on_change: Callable[["SelectedOptions"], None] = field(default=_ignore_change)
    """Stores the options after every change."""
    on_model_switch: Callable[[str], None] = field(default=_ignore_switch)
    """Called with the new model's id when it replaces another."""
    observer: SessionObserver = field(default_factory=NullObserver)
    list_seconds: float = MODEL_LIST_SECONDS
    default_network: NetworkAccess | None = None
    """The network of sandboxed commands by the settings; None if they are not sandboxed."""
    default_ports: PortAccess | None = None
    """The same for whether this machine may connect to their ports."""
    chosen_network: str | None = None
    """What the user selected instead; a stored one may come from another version."""
    chosen_ports: str | None = None
    default_speed: str = OFF
    """Whether fast mode is on by the settings: `on` or `off`."""
    chosen_speed: str | None = None
    """What the user selected instead."""
    _awaited_model: str | None = field(default=None, init=False)
    """The latest model selection that still waits for its endpoint's list."""

    @property
    def model_id(self) -> str:
        """The selected model while it is available, otherwise the current default."""
        # Looked up each time: the catalog changes when an endpoint sends its list.
        for choice in self.catalog.choices():
            if choice.id == self.chosen_model:
                return choice.id
        return self.catalog.default_id

    @property
    def thought_level(self) -> str | None:
        """The selected level if the model supports it, else its default; None if it has none."""
        levels = self.catalog.thought_levels(self.model_id)
        if self.chosen_level in levels:
            return self.chosen_level
        return self.catalog.default_thought_level(self.model_id)

    @property
    def network(self) -> NetworkAccess | None:
        """The network of sandboxed commands; None if they are not sandboxed."""
        return select_level(NETWORK_LEVELS, self.chosen_network, self.default_network)

    @property
    def ports(self) -> PortAccess | None:
        """Whether this machine may connect to their ports; None if they are not sandboxed."""
        return select_level(PORT_LEVELS, self.chosen_ports, self.default_ports)

    @property
    def is_fast(self) -> bool:
        """Whether to ask for fast mode: it is on, and the selected model has it."""
        has_fast_mode = self.catalog.describe_fast_mode(self.model_id) is not None
        return has_fast_mode and self._speed == ON

    @property
    def _speed(self) -> str:
        return self.chosen_speed if self.chosen_speed in SPEEDS else self.default_speed

    @property
    def options(self) -> tuple[Option, ...]:
        """The options with their current values."""
        return build_options(
            OptionSelection(
                self.mode,
                self.model_id,
                self.thought_level,
                self.network,
                self.ports,
                self._speed,
            ),
            self.catalog,
        )

    def announce(self) -> None:
        """Report the options to the client, after a change that the client did not request."""
        self.observer.options_changed(self.mode, self.options)

    def set_mode(self, mode: str) -> None:
        """Switch the mode.

        Raises:
            UnknownModeError: there is no such mode.
        """
        if not is_mode(mode):
            raise UnknownModeError(mode, MODE_IDS)
        self.mode = mode
        self.on_change(self)

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001  a value
        """Select a value of an option.

        Raises:
            UnknownOptionError: there is no such option.
            InvalidValueError: the option has no such value.
        """
        selected = select_value(option_id, value, self.options)
        if option_id == MODE_OPTION:
            self.mode = cast("Mode", selected)
        elif option_id == MODEL_OPTION:
            self._select_model(selected)
        elif option_id == NETWORK_OPTION:
            self.chosen_network = selected
        elif option_id == PORTS_OPTION:
            self.chosen_ports = selected
        elif option_id == FAST_OPTION:
            self.chosen_speed = selected
        else:
            self.chosen_level = selected
        self.on_change(self)

    def await_model_list(self, option_id: str, value: str | bool) -> bool:  # noqa: FBT001  a value
        """Return whether a value may be a model that its endpoint has not listed yet.

        If so, it becomes the latest selection, and `select_awaited_model` completes it.
        """
        if option_id != MODEL_OPTION or not isinstance(value, str):
            return False
        if any(choice.id == value for choice in self.catalog.choices()):
            return False
        self._awaited_model = value
        return True

    async def select_awaited_model(self, model_id: str) -> None:
        """Select an awaited model once its endpoint's list has arrived, unless superseded.

        Raises:
            InvalidValueError: the endpoint does not offer the model, or did not answer in time.
        """
        await self.load_model_list(model_id)
        # Validated even if superseded: the client asked for this value and must get the error.
        select_value(MODEL_OPTION, model_id, self.options)
        # A newer selection may have come during the wait; the older one must not undo it.
        if self._awaited_model == model_id:
            self.set_option(MODEL_OPTION, model_id)

    async def load_model_list(self, model_id: str) -> None:
        """Load the model list of an unknown model's endpoint; gives up after a time limit."""
        with anyio.move_on_after(self.list_seconds):
            await self.catalog.load_models_of(model_id)

    def _select_model(self, model_id: str) -> None:
        # Any completed selection supersedes one that still waits for its list.
        self._awaited_model = None
        # Compared by effect: naming the default explicitly switches nothing.
        previous_id, self.chosen_model = self.model_id, model_id
        if self.model_id != previous_id:
            self.on_model_switch(self.model_id)
