"""Prompt routing: to the model, or to a slash command that is answered here."""

from acp_server.session.commands.command import (
    CommandInvocation,
    PromptCommandError,
    parse_invocation,
)
from acp_server.session.commands.registry import CommandRegistry
from acp_server.session.ids import new_id
from acp_server.session.ports.skills import SkillCallError
from acp_server.session.project.requests import ProjectRequests
from acp_server.session.tools import SessionTools
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Text, UserMessage, prompt_to_text
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import TurnSink

UNTRUSTED = (
    "`{name}` is a file of this workspace, which is not trusted. Read the file, then run "
    "`acp-server trust` in the workspace to use it."
)


@frozen_dataclass
class RoutedPrompt:
    """A message for the model, and what a command asks for with it."""

    message: UserMessage
    references: str
    """The text in which `@path` refers to files: what the user typed, and files of commands."""
    model: str | None = None
    """The model that is to answer; None for the selected one."""


@frozen_dataclass
class PromptRouter:
    """Routes the prompts of one session."""

    commands: CommandRegistry
    tools: SessionTools
    project: ProjectRequests

    async def route(self, message: UserMessage, sink: TurnSink) -> RoutedPrompt | None:
        """Return the message for the model; None if a command answered the prompt.

        Raises:
            TurnError: a command needed the model, which could not be asked or failed.
        """
        typed = prompt_to_text(message.parts)
        invocation = parse_invocation(typed)
        if invocation is None:
            return RoutedPrompt(message, typed)
        try:
            prepared = await self._expand(invocation, message, sink)
        except (SkillCallError, PromptCommandError) as error:
            answer = str(error)
        else:
            if prepared is not None:
                return prepared
            answer = await self.commands.run(invocation, sink)
        await sink.emit(MessageChunk(new_id(), answer))
        return None

    async def answer(self, message: UserMessage, sink: TurnSink) -> str:
        """Return the answer of a slash command."""
        invocation = parse_invocation(prompt_to_text(message.parts))
        return "" if invocation is None else await self.commands.run(invocation, sink)

    async def _expand(
        self, invocation: CommandInvocation, message: UserMessage, sink: TurnSink
    ) -> RoutedPrompt | None:
        """Return the prompt that a command expands to; None if it is not a prompt command."""
        text = prompt_to_text(message.parts)
        # An unknown name may belong to a skill or server prompt that is not loaded yet.
        if not self.commands.is_known(invocation.name):
            await self.tools.for_turn()
        typed = f"/{invocation.name}"
        if typed in self.tools.current.command_files.untrusted_names():
            # The one question about the workspace, which names everything that it asks for.
            await self.project.apply(sink)
            if typed in self.tools.current.command_files.untrusted_names():
                raise PromptCommandError(UNTRUSTED.format(name=typed))
        prompt_command = self.commands.find_prompt_command(invocation.name)
        if prompt_command is not None:
            # The prompt replaces the typed text alone; links and images go along.
            attached = (part for part in message.parts if not isinstance(part, Text))
            prepared = await prompt_command.prepare(invocation.arguments, sink)
            replaced = UserMessage((Text(prepared.text), *attached))
            return RoutedPrompt(replaced, f"{text}\n{prepared.references}", prepared.model)
        expanded = await self._expand_skills(message, sink)
        return None if expanded is None else RoutedPrompt(expanded, text)

    async def _expand_skills(self, message: UserMessage, sink: TurnSink) -> UserMessage | None:
        """Return the prompt with the texts of the called skills; None if it calls none."""
        for position, part in enumerate(message.parts):
            if isinstance(part, Text) and part.text.strip():
                # Only the first text counts: a command is recognised at the start of a prompt.
                skills = self.tools.current.skills
                text = await skills.expand_calls(part.text, self.commands.is_known, sink)
                before, after = message.parts[:position], message.parts[position + 1 :]
                return UserMessage((*before, Text(text), *after)) if text else None
        return None
