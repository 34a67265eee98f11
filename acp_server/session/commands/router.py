"""Prompt routing: to the model, or to a slash command that is answered here."""

from collections.abc import Awaitable, Callable

from acp_server.session.commands.registry import (
    CommandRegistry,
    ErrandError,
    Invocation,
    parse_invocation,
)
from acp_server.session.ports.skills import SkillCallError, SkillDesk
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import Text, UserMessage, text_of
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import Sink
from acp_server.turn.step import NewId


@frozen
class Interpreter:
    """Routes the prompts of one session."""

    commands: CommandRegistry
    skills: SkillDesk
    prepare: Callable[[], Awaitable[object]]
    """Loads the skills and waits briefly for MCP prompts."""
    new_id: NewId

    async def for_model(self, message: UserMessage, sink: Sink) -> UserMessage | None:
        """Return the message for the model; None if a command answered the prompt.

        Raises:
            TurnError: a command needed the model, which could not be asked or failed.
        """
        invocation = parse_invocation(text_of(message.parts))
        if invocation is None:
            return message
        try:
            prepared = await self._prepared(invocation, message)
        except (SkillCallError, ErrandError) as error:
            answer = str(error)
        else:
            if prepared is not None:
                return prepared
            answer = await self.commands.answer(invocation, sink)
        await sink.emit(MessageChunk(self.new_id(), answer))
        return None

    async def _prepared(self, invocation: Invocation, message: UserMessage) -> UserMessage | None:
        """Return the prompt that a command expands to; None if it is not a prompt command."""
        # An unknown name may belong to a skill or server prompt that is not loaded yet.
        if not self.commands.is_known(invocation.name):
            await self.prepare()
        errand = self.commands.errand(invocation.name)
        if errand is not None:
            attached = (part for part in message.parts if not isinstance(part, Text))
            return UserMessage((Text(await errand.prepare(invocation.arguments)), *attached))
        return await self.skills.expanded(message)
