"""Prompt routing: to the model, or to a slash command that is answered here."""

from collections.abc import Awaitable, Callable

from acp_server.session.commands.registry import (
    CommandInvocation,
    CommandRegistry,
    PromptCommandError,
    parse_invocation,
)
from acp_server.session.ports.skills import SkillCallError, SkillCommands
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Text, UserMessage, prompt_to_text
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import TurnSink
from acp_server.turn.step import NewId


@frozen_dataclass
class PromptRouter:
    """Routes the prompts of one session."""

    commands: CommandRegistry
    skills: SkillCommands
    prepare: Callable[[], Awaitable[object]]
    """Loads the skills and waits briefly for MCP prompts."""
    new_id: NewId

    async def route(self, message: UserMessage, sink: TurnSink) -> UserMessage | None:
        """Return the message for the model; None if a command answered the prompt.

        Raises:
            TurnError: a command needed the model, which could not be asked or failed.
        """
        invocation = parse_invocation(prompt_to_text(message.parts))
        if invocation is None:
            return message
        try:
            prepared = await self._expand(invocation, message)
        except (SkillCallError, PromptCommandError) as error:
            answer = str(error)
        else:
            if prepared is not None:
                return prepared
            answer = await self.commands.run(invocation, sink)
        await sink.emit(MessageChunk(self.new_id(), answer))
        return None

    async def _expand(
        self, invocation: CommandInvocation, message: UserMessage
    ) -> UserMessage | None:
        """Return the prompt that a command expands to; None if it is not a prompt command."""
        # An unknown name may belong to a skill or server prompt that is not loaded yet.
        if not self.commands.is_known(invocation.name):
            await self.prepare()
        prompt_command = self.commands.find_prompt_command(invocation.name)
        if prompt_command is not None:
            # The prompt replaces the typed text alone; links and images go along.
            attached = (part for part in message.parts if not isinstance(part, Text))
            return UserMessage(
                (Text(await prompt_command.prepare(invocation.arguments)), *attached)
            )
        return await self.skills.expand(message)
