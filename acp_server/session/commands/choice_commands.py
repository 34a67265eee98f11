"""The slash commands `/model`, `/mode` and `/fast`: show values or select one, as pickers do."""

from collections.abc import Sequence

from acp_server.session.commands.command import SlashCommand
from acp_server.session.commands.similar_names import find_similar_names
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.project.options import (
    FAST_OPTION,
    MODE_OPTION,
    MODEL_OPTION,
    ON,
    SPEEDS,
    Option,
    OptionValue,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import TurnSink

CACHE_HINT = (
    "The provider caches prompts for each speed separately, so the next request has to write the "
    "conversation to the cache again."
)


@frozen_dataclass
class OptionCommands:
    """Typed access to one session's options."""

    options: SelectedOptions

    def all(self) -> Sequence[SlashCommand]:
        """Return the commands."""
        return (
            SlashCommand("mode", "Show the modes, or switch to one", self._mode, "[mode]"),
            SlashCommand("model", "Show the models, or switch to one", self._model, "[model]"),
            SlashCommand("fast", "Switch fast mode on or off", self._fast, "[on|off]"),
        )

    async def _mode(self, arguments: str, sink: TurnSink) -> str:
        del sink
        return self._show_or_select(MODE_OPTION, arguments)

    async def _model(self, arguments: str, sink: TurnSink) -> str:
        del sink
        # An endpoint's model list may not be loaded yet; ask it before the name is rejected.
        if arguments and not _match_values(arguments, self._option(MODEL_OPTION)):
            await self.options.load_model_list(arguments)
        return self._show_or_select(MODEL_OPTION, arguments)

    async def _fast(self, arguments: str, sink: TurnSink) -> str:
        del sink
        word = arguments.strip().lower()
        if word not in {"", *SPEEDS}:
            return f"`{arguments}` is neither `on` nor `off`."
        about = self.options.catalog.describe_fast_mode(self.options.model_id)
        if about is None:
            return self._explain_no_fast_mode()
        was_fast = self.options.is_fast
        is_fast = word == ON if word else not was_fast
        self.options.set_option(FAST_OPTION, is_fast)
        self.options.announce()
        state = f"Fast mode is on. {about}." if is_fast else "Fast mode is off."
        return state if is_fast == was_fast else f"{state} {CACHE_HINT}"

    def _explain_no_fast_mode(self) -> str:
        catalog = self.options.catalog
        names = [
            f"`{each.id}`" for each in catalog.choices() if catalog.describe_fast_mode(each.id)
        ]
        others = f" These models have it: {', '.join(names)}." if names else ""
        return f"There is no fast mode of `{self.options.model_id}` here.{others}"

    def _show_or_select(self, option_id: str, requested: str) -> str:
        option = self._option(option_id)
        if not requested:
            return "\n".join(_format_line(choice, option) for choice in option.values)
        found = _match_values(requested, option)
        if len(found) != 1:
            return _explain_no_match(requested, found, option)
        self.options.set_option(option_id, found[0].value)
        self.options.announce()
        return f"{option.name}: {_format_value(found[0])}"

    def _option(self, option_id: str) -> Option:
        return next(each for each in self.options.options if each.id == option_id)


def _format_line(choice: OptionValue, option: Option) -> str:
    description = f": {choice.description}" if choice.description else ""
    marker = " (current)" if choice.value == option.current else ""
    return f"- {_format_value(choice)}{description}{marker}"


def _format_value(choice: OptionValue) -> str:
    is_named = choice.name not in {"", choice.value}
    return f"`{choice.value}` ({choice.name})" if is_named else f"`{choice.value}`"


def _match_values(requested: str, option: Option) -> Sequence[OptionValue]:
    """Return the choice with this id or name, otherwise every choice that contains the word."""
    word = requested.casefold()
    names = [((each.value.casefold(), each.name.casefold()), each) for each in option.values]
    exact = [choice for known, choice in names if word in known]
    # An exact id wins over longer ids that contain it.
    return exact[:1] or [choice for known, choice in names if any(word in name for name in known)]


def _explain_no_match(requested: str, found: Sequence[OptionValue], option: Option) -> str:
    """Explain that a word matches no choice or several, and suggest similar ones."""
    option_name = option.name.lower()
    if found:
        return f"`{requested}` may be {' or '.join(f'`{each.value}`' for each in found)}."
    similar = find_similar_names(requested, [choice.value for choice in option.values])
    guess = f" Did you mean {' or '.join(f'`{each}`' for each in similar)}?" if similar else ""
    return f"There is no {option_name} `{requested}`.{guess} `/{option.id}` lists them all."
