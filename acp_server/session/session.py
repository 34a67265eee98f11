"""One conversation: its folders, its mode, its queue of turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from acp_server.session.commands import CommandRegistry, Invocation, parse_invocation
from acp_server.session.errors import UnknownModeError
from acp_server.session.modes import MODE_IDS, Mode, is_mode
from acp_server.session.options import Option, mode_from_option, mode_option
from acp_server.session.turns import Screen, Ticket, TurnQueue
from acp_server.turn.conversation import Conversation, UserMessage, text_of
from acp_server.turn.errors import TurnError
from acp_server.turn.events import MessageChunk
from acp_server.turn.loop import Turn
from acp_server.turn.ports import Model, Sink, StopReason


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders of a session: absolute, `cwd` first among equals."""

    cwd: Path
    additional: tuple[Path, ...] = ()


class Session:
    """A conversation in a workspace."""

    def __init__(self, workspace: Workspace, model: Model, mode: Mode) -> None:
        self.id = f"sess_{uuid4().hex}"
        self.workspace = workspace
        self.mode: Mode = mode
        self.commands = CommandRegistry()
        self.conversation = Conversation()
        self._model = model
        self._turns = TurnQueue()

    @property
    def options(self) -> Sequence[Option]:
        """The pickers of this session, as they stand."""
        return (mode_option(self.mode),)

    def set_mode(self, mode: str) -> None:
        """Switch the mode, at any time.

        Raises:
            UnknownModeError: it is none of ours.
        """
        if not is_mode(mode):
            raise UnknownModeError(mode, MODE_IDS)
        self.mode = mode

    def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001  a value
        """Choose a value of an option.

        Raises:
            UnknownOptionError: there is no such option.
            InvalidValueError: the option has no such value.
        """
        self.mode = mode_from_option(option_id, value)

    def admit(self) -> Ticket:
        """Take a place in the queue for a prompt, in the order in which prompts were read."""
        return self._turns.admit()

    async def prompt(
        self, ticket: Ticket, message: UserMessage, screen: Screen, abandon: Callable[[], None]
    ) -> StopReason:
        """Answer a prompt when its turn has come; see `TurnQueue.run` for `abandon`.

        Raises:
            TurnError: the model cannot be asked, or failed; the user has been told why.
        """
        turn = Turn(self.conversation, self._model, new_message_id)

        async def answer(gate: Sink) -> StopReason:
            invocation = parse_invocation(text_of(message.parts))
            if invocation is not None:
                return await self._answer_command(invocation, gate)
            try:
                return await turn.run(message, gate)
            except TurnError as error:  # said in the chat too: many clients hide error data
                if not ticket.is_cancelled.is_set():
                    await gate.emit(MessageChunk(new_message_id(), error.reason))
                raise

        def give_up() -> None:
            turn.settle()
            abandon()

        return await self._turns.run(ticket, screen, answer, give_up)

    def cancel(self) -> None:
        """Stop the running prompt and those that wait. Nothing happens on an idle session."""
        self._turns.cancel_all()

    async def wait_until_idle(self) -> None:
        """Wait until every prompt so far is over."""
        await self._turns.wait_until_idle()

    async def _answer_command(self, invocation: Invocation, sink: Sink) -> StopReason:
        await sink.emit(MessageChunk(new_message_id(), self.commands.answer(invocation)))
        return "end_turn"


def new_message_id() -> str:
    """Return an id for a message, unique for all time."""
    return f"msg_{uuid4().hex}"
