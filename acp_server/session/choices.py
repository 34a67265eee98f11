"""What the user has chosen for one session: a mode, a model, how deeply it thinks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import anyio

from acp_server.permissions.modes import MODE_IDS, Mode, is_mode
from acp_server.session.errors import UnknownModeError
from acp_server.session.options import (
    MODE_OPTION,
    MODEL_OPTION,
    Chosen,
    Option,
    choose,
    options_of,
)
from acp_server.session.ports import ModelCatalog

LIST_SECONDS = 10.0
"""How long a choice waits for the list of an endpoint, which may be far away or not there."""


def _nobody() -> None: ...


def _forget(model_id: str) -> None:
    del model_id


@dataclass(slots=True)
class Choices:
    """The choices of one session. A turn that runs goes on with the model it has."""

    catalog: ModelCatalog
    mode: Mode
    chosen_model: str | None = None
    """None for whatever is the default."""
    chosen_level: str | None = None
    on_change: Callable[[], None] = field(default=_nobody)
    """Called behind every change."""
    on_switch: Callable[[str], None] = field(default=_forget)
    """Called with the model that is chosen in the place of another."""
    list_seconds: float = LIST_SECONDS
    _awaited: str | None = field(default=None, init=False)
    """The newest choice, while it waits for its endpoint's list."""

    @property
    def model_id(self) -> str:
        """The chosen model while it can be had, else the default as it is known by now."""
        for choice in self.catalog.choices():
            if choice.id == self.chosen_model:
                return choice.id
        return self.catalog.default_id

    @property
    def thought_level(self) -> str | None:
        """The chosen level if the model has it, else the model's own; None for no choice."""
        levels = self.catalog.thought_levels(self.model_id)
        if self.chosen_level in levels:
            return self.chosen_level
        return self.catalog.default_thought_level(self.model_id)

    @property
    def options(self) -> tuple[Option, ...]:
        """The pickers, as they stand."""
        return options_of(Chosen(self.mode, self.model_id, self.thought_level), self.catalog)

    def set_mode(self, mode: str) -> None:
        """Switch the mode.

        Raises:
            UnknownModeError: it is none of ours.
        """
        if not is_mode(mode):
            raise UnknownModeError(mode, MODE_IDS)
        self.mode = mode
        self.on_change()

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001  a value
        """Choose a value of an option.

        Raises:
            UnknownOptionError: there is no such option.
            InvalidValueError: the option has no such value.
        """
        chosen = choose(option_id, value, self.options)
        if option_id == MODE_OPTION:
            self.mode = cast("Mode", chosen)
        elif option_id == MODEL_OPTION:
            self._switch(chosen)
        else:
            self.chosen_level = chosen
        self.on_change()

    def awaits(self, option_id: str, value: str | bool) -> bool:  # noqa: FBT001  a value
        """Whether a value may be a model that its endpoint has not told of yet.

        If so it is the newest choice from here on, and `choose_listed` makes it.
        """
        if option_id != MODEL_OPTION or not isinstance(value, str) or self._offers(value):
            return False
        self._awaited = value
        return True

    async def choose_listed(self, model_id: str) -> None:
        """Choose an awaited model once its endpoint's list has come, unless another one was since.

        Raises:
            InvalidValueError: the endpoint does not have it, or does not tell in time.
        """
        await self.learn_of(model_id)
        choose(MODEL_OPTION, model_id, self.options)
        if self._awaited == model_id:
            self.set_option(MODEL_OPTION, model_id)

    async def learn_of(self, model_id: str) -> None:
        """Have a model's endpoint tell what it offers, if it has not told of it; not for ever."""
        with anyio.move_on_after(self.list_seconds):
            await self.catalog.learn_of(model_id)

    def _offers(self, model_id: str) -> bool:
        return any(choice.id == model_id for choice in self.catalog.choices())

    def _switch(self, model_id: str) -> None:
        self._awaited = None
        before, self.chosen_model = self.model_id, model_id
        if self.model_id != before:
            self.on_switch(self.model_id)
