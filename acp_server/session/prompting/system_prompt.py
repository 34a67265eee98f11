"""The system prompt of one session: written once per model, stored, rewritten only for a reason.

A resumed session keeps its prompt, so that the provider's cache stays valid, unless its instruction
files have changed or the prompt is too old for any cache.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from acp_server.session.context import SessionContext
from acp_server.session.ports.archive import SavedSystem
from acp_server.session.ports.external_memory import ExternalMemorySession
from acp_server.session.ports.skills import SkillIndexRequest
from acp_server.session.prompting.provider import PromptProvider, SystemPromptRequest
from acp_server.session.tools import SessionTools
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.compaction import drop_reasoning

MAX_AGE = timedelta(days=1)
REWRITTEN = "The instructions were read again for this session: {reason}."
TOO_OLD = "they were more than a day old"
FILES_CHANGED = "its directories, or instruction files in them, have changed"
TOOLS_CHANGED = "the available tools have changed"
AGENTS_CHANGED = "the available agents have changed"
CLIENT_CHANGED = "the client's instructions have changed"
CLIENT_HEADING = """\
# Instructions from the client

The program that the user talks to you through has added these. They cannot change what needs the
user's permission."""
TOOLS = "tools"
AGENTS = "agents"
CLIENT_INSTRUCTIONS = "client_instructions"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class SystemPrompt:
    """The system prompt of one session."""

    context: SessionContext
    provider: Lazy[PromptProvider]
    tools: SessionTools
    external_memory: ExternalMemorySession
    is_unverified: bool = False
    """Whether the prompt is from a previous process and not yet verified."""
    now: Callable[[], datetime] = _now
    client_instructions: str | None = None
    """What the client adds; None until it says, then those of a stored prompt count."""
    notice: str = field(default="", init=False)
    """A notice for the user about a rewritten prompt; shown once."""
    _may_have_been_sent: bool = field(default=False, init=False)
    """Whether the model may have received this prompt, together with the tools."""

    @property
    def saved(self) -> SavedSystem | None:
        """The current prompt; one of a previous process until it was verified."""
        return self.context.recorder.facts.system

    async def get_text(self, model_id: str) -> str:
        """Return the prompt for a model; a model switch drops signed reasoning."""
        if self.is_unverified:
            await self._verify()
        if self.saved is not None and self.saved.model_id == model_id:
            return self.saved.text
        if self.saved is not None:
            # Another model: signatures bind reasoning to the model that wrote it.
            self.drop_reasoning()
        return await self.write(model_id)

    async def write(self, model_id: str) -> str:
        """Write the prompt again from the current facts."""
        # The tool list is part of the cached prefix. It may change here because the cache is lost
        # anyway; between rewrites it must stay the same.
        if self._may_have_been_sent:
            await self.tools.current.servers.refresh_tools()
            self.external_memory.refresh_tools()
        agents = self.tools.current.agents
        agents.list_again()
        restrictions = self.context.restrictions
        window = self.context.options.catalog.known_window_tokens(model_id)
        tools = await self.tools.names()
        index = await self.tools.current.skills.index(
            SkillIndexRequest(tools, restrictions.preferred_skills)
        )
        block = await self.external_memory.system_block()
        provider = await self.provider.get()
        text = await provider.write_prompt(
            SystemPromptRequest(model_id, window, tools, index, block)
        )
        added = self.client_instructions or ""
        if added:
            text = f"{text.rstrip()}\n\n{CLIENT_HEADING}\n\n{added}\n"
        # From here on the model may see this prompt, so the tools may change only by a rewrite.
        self.is_unverified, self._may_have_been_sent = False, True
        # No await since `write_prompt`: the state belongs to this text.
        state: dict[str, JsonValue] = {
            **provider.state(),
            **restrictions.state(),
            TOOLS: [*sorted(tools)],
            **({AGENTS: agents.digest} if agents.digest else {}),
            **({CLIENT_INSTRUCTIONS: added} if added else {}),
        }
        self.context.recorder.set_system(SavedSystem(text, model_id, self.now(), state))
        self.context.recorder.save_facts()
        return text

    async def rewrite(self) -> str:
        """Write the prompt again, for the same model as before if there was a prompt."""
        model_id = self.context.options.model_id if self.saved is None else self.saved.model_id
        return await self.write(model_id)

    def discard(self) -> None:
        """Have the prompt written again at its next use."""
        if self.saved is not None:
            self.drop_reasoning()
            self.context.recorder.set_system(None)

    def drop_reasoning(self) -> None:
        """Remove reasoning from the conversation: its signature needs the old prompt."""
        conversation = self.context.conversation
        conversation.rebuild(drop_reasoning(tuple(conversation)))

    def take_notice(self) -> str:
        """Return the notice for the user, once."""
        notice, self.notice = self.notice, ""
        return notice

    async def _verify(self) -> None:
        """Verify the prompt of a previous process: keep it, or discard it with a reason."""
        saved = self.saved
        stored = None if saved is None else saved.state.get(CLIENT_INSTRUCTIONS)
        if self.client_instructions is None and isinstance(stored, str):
            self.client_instructions = stored
        reason = "" if saved is None else await self._find_rewrite_reason(saved)
        # Only now: if the prompt was cancelled during the checks, the next one repeats them.
        self.is_unverified = False
        if reason:
            self.notice = REWRITTEN.format(reason=reason)
            self.context.recorder.set_system(None)
            # Signatures of the previous process's reasoning cover the discarded prompt.
            self.drop_reasoning()
        # A kept prompt was sent by the previous process, with these tools.
        self._may_have_been_sent = saved is not None and not reason

    async def _find_rewrite_reason(self, saved: SavedSystem) -> str:
        """Return why a previous prompt is no longer valid; empty if it is."""
        # `abs`: after a clock change the stored time may be in the future.
        if abs(self.now() - saved.written_at) > MAX_AGE:
            return TOO_OLD
        if saved.state.get(TOOLS) != sorted(await self.tools.names()):
            return TOOLS_CHANGED
        if saved.state.get(AGENTS, "") != self.tools.current.agents.digest:
            return AGENTS_CHANGED
        stored = saved.state.get(CLIENT_INSTRUCTIONS)
        if self.client_instructions != stored:
            return CLIENT_CHANGED
        provider = await self.provider.get()
        return "" if await provider.restore(saved.text, saved.state) else FILES_CHANGED
