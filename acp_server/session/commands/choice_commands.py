"""The slash commands `/model` and `/mode`: list values or select one, as editor pickers do."""

from collections.abc import Callable, Sequence

from acp_server.session.commands.registry import Command
from acp_server.session.lazy_imports import near_names
from acp_server.session.project.choices import Choices
from acp_server.session.project.options import MODE_OPTION, MODEL_OPTION, Choice, Option
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.ports import Sink


@frozen
class ChoiceCommands:
    """Typed access to one session's options."""

    choices: Choices
    tell: Callable[[], None]
    """Notifies the editor of a selection made here."""

    def all(self) -> Sequence[Command]:
        """Return the commands."""
        return (
            Command("mode", "Show the modes, or switch to one", self._mode, "[mode]"),
            Command("model", "Show the models, or switch to one", self._model, "[model]"),
        )

    async def _mode(self, arguments: str, sink: Sink) -> str:
        del sink
        return self._answer(MODE_OPTION, arguments)

    async def _model(self, arguments: str, sink: Sink) -> str:
        del sink
        # An endpoint's model list may not be loaded yet; ask it before the name is rejected.
        if arguments and not _meant(arguments, self._option(MODEL_OPTION)):
            await self.choices.learn_of(arguments)
        return self._answer(MODEL_OPTION, arguments)

    def _answer(self, option_id: str, wanted: str) -> str:
        option = self._option(option_id)
        if not wanted:
            return "\n".join(_line(choice, option) for choice in option.choices)
        found = _meant(wanted, option)
        if len(found) != 1:
            return _not_clear(wanted, found, option)
        self.choices.set_option(option_id, found[0].value)
        self.tell()
        return f"{option.name}: {_shown(found[0])}"

    def _option(self, option_id: str) -> Option:
        return next(each for each in self.choices.options if each.id == option_id)


def _line(choice: Choice, option: Option) -> str:
    description = f": {choice.description}" if choice.description else ""
    now = " (current)" if choice.value == option.current else ""
    return f"- {_shown(choice)}{description}{now}"


def _shown(choice: Choice) -> str:
    is_named = choice.name not in {"", choice.value}
    return f"`{choice.value}` ({choice.name})" if is_named else f"`{choice.value}`"


def _meant(wanted: str, option: Option) -> Sequence[Choice]:
    """Return the choice with this id or name, otherwise every choice that contains the word."""
    word = wanted.casefold()
    names = [((each.value.casefold(), each.name.casefold()), each) for each in option.choices]
    exact = [choice for known, choice in names if word in known]
    return exact[:1] or [choice for known, choice in names if any(word in name for name in known)]


def _not_clear(wanted: str, found: Sequence[Choice], option: Option) -> str:
    """Explain that a word matches no choice or several, and suggest similar ones."""
    what = option.name.lower()
    if found:
        return f"`{wanted}` may be {' or '.join(f'`{each.value}`' for each in found)}."
    near = near_names(wanted, [choice.value for choice in option.choices])
    guess = f" Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else ""
    return f"There is no {what} `{wanted}`.{guess} `/{option.id}` lists them all."
