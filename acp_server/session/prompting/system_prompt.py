"""The system prompt of one session: written once per model, stored, rewritten only for a reason.

A resumed session keeps its prompt, so that the provider's cache stays valid, unless its instruction
files have changed or the prompt is too old for any cache.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from acp_server.session.ports.archive import SavedSystem
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.ports.skills import SkillIndexRequest
from acp_server.session.prompting.provider import PromptProvider, SystemPromptRequest
from acp_server.turn.compaction import drop_reasoning
from acp_server.turn.conversation import Conversation

MAX_AGE = timedelta(days=1)
REWRITTEN = "The instructions were read again for this session: {reason}."
TOO_OLD = "they were more than a day old"
FILES_CHANGED = "its directories, or instruction files in them, have changed"
TOOLS_CHANGED = "the available tools have changed"
TOOLS = "tools"
ALLOWED_TOOLS = "allowed_tools"
PREFERRED_SKILLS = "preferred_skills"


def _now() -> datetime:
    return datetime.now(UTC)


def _ignore_write() -> None: ...


async def _no_index(request: SkillIndexRequest) -> str:
    del request
    return ""


async def _no_block() -> str:
    return ""


async def _keep_tools() -> None: ...


@dataclass(slots=True)
class SystemPrompt:
    """The system prompt of one session."""

    provider: PromptProvider
    catalog: ModelCatalog
    conversation: Conversation
    tool_names: Callable[[], Awaitable[frozenset[str]]]
    """Called when the prompt is written."""
    saved: SavedSystem | None = None
    """The current prompt; one of a previous process until it was verified."""
    is_unverified: bool = False
    """Whether the prompt is from a previous process and not yet verified."""
    now: Callable[[], datetime] = _now
    on_write: Callable[[], None] = field(default=_ignore_write)
    skills_index: Callable[[SkillIndexRequest], Awaitable[str]] = field(default=_no_index)
    """Renders the section that lists the skills."""
    memory_block: Callable[[], Awaitable[str]] = field(default=_no_block)
    """Renders the section of the external memory."""
    rebuild_tools: Callable[[], Awaitable[None]] = field(default=_keep_tools)
    """Called before the prompt is rewritten, the only moment at which the tools may change."""
    notice: str = field(default="", init=False)
    """A notice for the user about a rewritten prompt; shown once."""
    _may_have_been_sent: bool = field(default=False, init=False)
    """Whether the model may have received this prompt, together with the tools."""
    _allowed_tools: tuple[str, ...] | None = field(default=None, init=False)
    _preferred_skills: tuple[str, ...] | None = field(default=None, init=False)

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
            await self.rebuild_tools()
        window = self.catalog.known_window_tokens(model_id)
        tools = await self.tool_names()
        index = await self.skills_index(SkillIndexRequest(tools, tuple(self.preferred_skills)))
        block = await self.memory_block()
        text = await self.provider.write_prompt(
            SystemPromptRequest(model_id, window, tools, index, block)
        )
        # From here on the model may see this prompt, so the tools may change only by a rewrite.
        self.is_unverified, self._may_have_been_sent = False, True
        # No await since `write_prompt`: the state belongs to this text.
        state: dict[str, JsonValue] = {**self.provider.state(), TOOLS: [*sorted(tools)]}
        if self.allowed_tools is not None:
            state[ALLOWED_TOOLS] = [*self.allowed_tools]
        if self.preferred_skills:
            state[PREFERRED_SKILLS] = [*self.preferred_skills]
        self.saved = SavedSystem(text, model_id, self.now(), state)
        self.on_write()
        return text

    async def rewrite(self, model_id: str) -> str:
        """Write the prompt again, for the same model as before if there was a prompt."""
        return await self.write(self.saved.model_id if self.saved is not None else model_id)

    @property
    def allowed_tools(self) -> Sequence[str] | None:
        """Names of the tools that the project restricts the session to; None for all."""
        if self._allowed_tools is None:
            self._allowed_tools = self._stored_names(ALLOWED_TOOLS)
        return self._allowed_tools

    @property
    def preferred_skills(self) -> Sequence[str]:
        """Names of the skills that the project prefers."""
        if self._preferred_skills is None:
            self._preferred_skills = self._stored_names(PREFERRED_SKILLS)
        return self._preferred_skills or ()

    def narrow_tools(self, names: Sequence[str]) -> None:
        """Restrict the tools; discards a prompt that was written for others."""
        if self.allowed_tools != tuple(names):
            self._allowed_tools = tuple(names)
            self.discard()

    def prefer_skills(self, names: Sequence[str]) -> None:
        """Set the preferred skills; discards a prompt that was written without them."""
        if self.preferred_skills != tuple(names):
            self._preferred_skills = tuple(names)
            self.discard()

    def discard(self) -> None:
        """Have the prompt written again at its next use."""
        if self.saved is not None:
            self.drop_reasoning()
            self.saved = None

    def drop_reasoning(self) -> None:
        """Remove reasoning from the conversation: its signature needs the old prompt."""
        self.conversation.rebuild(drop_reasoning(tuple(self.conversation)))

    def take_notice(self) -> str:
        """Return the notice for the user, once."""
        notice, self.notice = self.notice, ""
        return notice

    def _stored_names(self, name: str) -> tuple[str, ...] | None:
        """Return names that were stored with the prompt."""
        names = None if self.saved is None else self.saved.state.get(name)
        return tuple(map(str, names)) if isinstance(names, list) else None

    async def _verify(self) -> None:
        """Verify the prompt of a previous process: keep it, or discard it with a reason."""
        # Cleared before the awaits, so that the prompt is verified only once.
        saved, self.is_unverified = self.saved, False
        if saved is None:
            return
        reason = await self._find_rewrite_reason(saved)
        if reason:
            self.notice = REWRITTEN.format(reason=reason)
            self.saved = None
            # Signatures of the previous process's reasoning cover the discarded prompt.
            self.drop_reasoning()
        # A kept prompt was sent by the previous process, with these tools.
        self._may_have_been_sent = not reason

    async def _find_rewrite_reason(self, saved: SavedSystem) -> str:
        """Return why a previous prompt is no longer valid; empty if it is."""
        # `abs`: after a clock change the stored time may be in the future.
        if abs(self.now() - saved.written_at) > MAX_AGE:
            return TOO_OLD
        if saved.state.get(TOOLS) != sorted(await self.tool_names()):
            return TOOLS_CHANGED
        return "" if await self.provider.restore(saved.text, saved.state) else FILES_CHANGED
