"""A toolset whose tools are imported when the first of them is called, or once a turn is over.

A first request needs the specifications of the tools, the skills, and no more. So these are here,
and everything else is built at its first use: the tools themselves, the permission gate, the
shell, checkpoints. A session that may need more in its first turn has its tools built at once.
"""

from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
from anyio import from_thread, to_thread
from pydantic import JsonValue

from acp_server.permissions.trust import ProjectUse
from acp_server.session.commands.command import PromptCommand
from acp_server.session.context import SessionContext
from acp_server.session.ports.checkpoints import RestoreReport, RestoreScope
from acp_server.session.ports.mcp import (
    McpAnswer,
    McpServerStatus,
    ProjectServers,
    ShowText,
    UnavailableServer,
)
from acp_server.session.ports.toolset import SessionToolset
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.session_parts import SessionParts, SharedParts
from acp_server.tools.stored_specs import (
    CONFINED_TERMINAL,
    DELEGATION_WITH_AGENTS,
    StoredSpecs,
    stored_specs,
)
from acp_server.tools.symbols.grammar_packages import has_grammars
from acp_server.tools.tool_config import ToolConfig
from acp_server.tools.tool_names import (
    DELEGATION_TOOL,
    SEARCH_TOOL,
    SYMBOLS_TOOL,
    TERMINAL_TOOL,
    offered_tool_names,
)
from acp_server.tools.tool_settings import DEFAULT_COMMAND_SECONDS
from acp_server.turn.call_wrappers import WrappedToolbox
from acp_server.turn.conversation import (
    Attachment,
    Link,
    Message,
    PromptPart,
    UserMessage,
    UserPart,
)
from acp_server.turn.ports import LiveCall, Toolbox, ToolSpec, TurnSink
from skills_store.viewing import SkillView

PROJECT_FILES = (
    *(".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"),
    *(".claude/settings.json", ".claude/settings.local.json"),
)
"""Files of a workspace with MCP servers or permission rules; those that it has are read at once."""

BuildTools = Callable[[SessionParts], Awaitable[SessionToolset]]
"""Imports and builds all tools of a session, around its parts."""


class DeferredToolsets:
    """Creates the toolsets of sessions whose first turn needs no more than is here."""

    def __init__(self, config: ToolConfig) -> None:
        """Prepare; blocks for the stored specifications."""
        self.shared = SharedParts(config)
        self._config = config
        self._stored = stored_specs()

    async def create(
        self, session: SessionContext, build: BuildTools, *, has_servers: bool, has_symbols: bool
    ) -> SessionToolset | None:
        """Return the toolset of a session; None if its tools must be built at once.

        `has_servers`: MCP servers are to be connected. `has_symbols`: the editor answers questions
        about symbols.
        """
        if self._stored is None or has_servers or not await self._can_defer(session):
            return None
        return self._create(self._stored, session, build, has_symbols=has_symbols)

    async def _can_defer(self, session: SessionContext) -> bool:
        config = self._config
        is_plain = (
            config.hooks.is_empty
            and not config.memory.provider
            and config.terminal.timeout_seconds == DEFAULT_COMMAND_SECONDS
            and config.toolsets.offers(DELEGATION_TOOL)
        )
        is_new = len(session.conversation) == 0
        return is_plain and is_new and not await to_thread.run_sync(has_project_files, session)

    def _create(
        self,
        stored: StoredSpecs,
        session: SessionContext,
        build: BuildTools,
        *,
        has_symbols: bool,
    ) -> SessionToolset:
        own = tuple(_own_specs(self._config, stored, has_symbols=has_symbols))
        names = frozenset({*(each.name for each in own), DELEGATION_TOOL})
        tools = _DeferredTools(build, session)

        def specs() -> Sequence[ToolSpec]:
            return (*own, _delegation_spec(stored, tools.parts.agents.listing))

        def available_names() -> frozenset[str]:
            built = {each.name for each in toolbox.specs} - {DELEGATION_TOOL}
            allowed = session.restrictions.allowed_tools
            return frozenset(built) if allowed is None else frozenset(built.intersection(allowed))

        async def prepare_call(view: SkillView, sink: TurnSink) -> SkillView:
            await tools.get()
            return await parts.skills.prepare_call(view, sink)  # now that of the tools

        toolbox = _DeferredToolbox(tools, specs)
        parts = tools.parts = self.shared.create(session, toolbox, available_names)
        parts.skills.tools = names
        parts.skills.prepare_call = prepare_call
        return SessionToolset(
            toolbox=toolbox,
            skills=parts.skills,
            servers=_DeferredServers(tools),
            command_files=parts.command_files,
            agents=parts.agents,
            checkpoints=_DeferredCheckpoints(tools),
            seen_files=_DeferredSeenFiles(tools),
            port_forwarding=_DeferredPorts(tools),
            take_notices=lambda: () if tools.built is None else tools.built.take_notices(),
            carry_over=tools.carry_over,
            continue_asker=_DeferredAsker(tools),
            on_turn_end=tools.end_turn,
            list_rules=lambda: tools.from_thread().list_rules(),
            forget_rule=lambda rule: tools.from_thread().forget_rule(rule),
            describe_rules=lambda: tools.from_thread().describe_rules(),
            has_new_project_rules=tools.has_new_project_rules,
            list_project_rules=tools.list_project_rules,
            approve_project_rules=tools.approve_project_rules,
            accept_other_names=lambda inner: _OtherNames(inner, tools),
            complete=tools.get,
        )


def has_project_files(session: SessionContext) -> bool:
    """Return whether the workspace has files with MCP servers or permission rules. Blocks."""
    paths = (root / name for root in session.workspace.roots for name in PROJECT_FILES)
    return any(map(_may_exist, paths))


def _may_exist(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _own_specs(config: ToolConfig, stored: StoredSpecs, *, has_symbols: bool) -> Iterator[ToolSpec]:
    """Yield the specifications of the tools that a session has, except `delegate_task`."""
    missing = {
        DELEGATION_TOOL,
        *(() if has_symbols or has_grammars() else (SYMBOLS_TOOL,)),
        *(() if config.open_session_search is not None else (SEARCH_TOOL,)),
    }
    for name in offered_tool_names(config.memory, config.toolsets):
        if name not in missing:
            is_confined = name == TERMINAL_TOOL and config.sandbox.mode != "off"
            yield stored.tools[CONFINED_TERMINAL if is_confined else name]


def _delegation_spec(stored: StoredSpecs, listing: str) -> ToolSpec:
    if not listing:
        return stored.tools[DELEGATION_TOOL]
    spec = stored.tools[DELEGATION_WITH_AGENTS]
    return replace(spec, description=f"{spec.description}{listing}")


@dataclass(slots=True)
class _DeferredTools:
    """All tools of a session, built at their first use."""

    build: BuildTools
    session: SessionContext
    parts: SessionParts = field(init=False)
    built: SessionToolset | None = field(default=None, init=False)
    _lock: anyio.Lock = field(default_factory=anyio.Lock, init=False)
    _turns: list[tuple[AsyncExitStack, UserMessage]] = field(
        default_factory=list[tuple[AsyncExitStack, UserMessage]], init=False
    )
    """The turns that run, each with the contexts to leave at its end."""
    _on_server_change: Callable[[], None] | None = field(default=None, init=False)
    _are_servers_frozen: bool = field(default=False, init=False)
    _is_closed: bool = field(default=False, init=False)

    async def get(self) -> SessionToolset:
        """Return the tools, and import and build them first."""
        # A call and the end of the warm-up may both come here; only one may build them.
        async with self._lock:
            if self.built is None:
                built = await self.build(self.parts)
                for contexts, prompt in self._turns:
                    await contexts.enter_async_context(built.checkpoints.record_turn(prompt))
                self.built = built
                if self._is_closed:
                    await built.toolbox.close()
                elif self._on_server_change is not None:
                    built.servers.start(self._on_server_change)
                    if self._are_servers_frozen:
                        await built.servers.wait_ready()
        return self.built

    def from_thread(self) -> SessionToolset:
        """Return the tools; called in a worker thread."""
        return from_thread.run(self.get)

    @asynccontextmanager
    async def record_turn(self, prompt: UserMessage) -> AsyncGenerator[None]:
        """Record the changes of files that the tools make, also if they are built meanwhile."""
        async with AsyncExitStack() as contexts:
            if self.built is not None:
                await contexts.enter_async_context(self.built.checkpoints.record_turn(prompt))
            turn = (contexts, prompt)
            self._turns.append(turn)
            try:
                yield
            finally:
                self._turns.remove(turn)

    def start_servers(self, on_change: Callable[[], None]) -> None:
        """Start the servers; see the port."""
        self._on_server_change = on_change
        if self.built is not None:
            self.built.servers.start(on_change)

    async def freeze_servers(self) -> None:
        """Wait for the servers; see the port."""
        self._are_servers_frozen = True
        if self.built is not None:
            await self.built.servers.wait_ready()

    async def close(self) -> None:
        """Close the tools; those that are being built are closed afterwards."""
        self._is_closed = True
        if self.built is not None:
            await self.built.toolbox.close()

    def carry_over(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return what the tools keep in messages: nothing before one was called."""
        return () if self.built is None else self.built.carry_over(messages)

    def end_turn(self, reason: str) -> None:
        """Tell the tools that a turn has ended."""
        if self.built is not None:
            self.built.on_turn_end(reason)

    def has_new_project_rules(self) -> bool:
        """Return whether a call met rules that were not listed yet."""
        return self.built is not None and self.built.has_new_project_rules()

    def list_project_rules(self) -> Sequence[ProjectUse]:
        """Return what files of the workspace allow. Blocks."""
        if self.built is None and not has_project_files(self.session):
            return ()
        return self.from_thread().list_project_rules()

    def approve_project_rules(self, digests: Collection[str]) -> None:
        """Let rules count that were listed."""
        if self.built is not None:
            self.built.approve_project_rules(digests)


@frozen_dataclass
class _DeferredToolbox:
    tools: _DeferredTools
    first_specs: Callable[[], Sequence[ToolSpec]]

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools sent to the model."""
        built = self.tools.built
        return self.first_specs() if built is None else built.toolbox.specs

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call; see the port."""
        return await (await self.tools.get()).toolbox.open(call_id, name, sink)

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Resolve a link; see the port."""
        return await (await self.tools.get()).toolbox.attach(link, sink)

    async def close(self) -> None:
        """Close the tools."""
        await self.tools.close()


@frozen_dataclass
class _OtherNames(WrappedToolbox):
    """A toolbox whose tools may also be called as those of other agents."""

    tools: _DeferredTools
    named: list[Toolbox] = field(default_factory=list[Toolbox])
    """The toolbox that understands the names, once there is one."""

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call of the tool that the name means."""
        built = await self.tools.get()
        if not self.named:
            self.named.append(built.accept_other_names(self.inner))
        return await self.named[0].open(call_id, name, sink)


@frozen_dataclass
class _DeferredServers:
    """No MCP servers, until the tools are built."""

    tools: _DeferredTools

    def start(self, on_change: Callable[[], None]) -> None:
        """Start connecting; see the port."""
        self.tools.start_servers(on_change)

    async def wait_ready(self) -> None:
        """Freeze the tools; see the port."""
        await self.tools.freeze_servers()

    def unavailable(self) -> Sequence[UnavailableServer]:
        """Return the servers whose tools are missing."""
        built = self.tools.built
        return () if built is None else built.servers.unavailable()

    async def refresh_tools(self) -> None:
        """Freeze the tools again."""
        if self.tools.built is not None:
            await self.tools.built.servers.refresh_tools()

    def take_notices(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """Return news of servers."""
        built = self.tools.built
        return () if built is None else built.servers.take_notices(allowed)

    async def read_mentions(
        self, parts: Sequence[UserPart], sink: TurnSink
    ) -> Sequence[PromptPart]:
        """Return what mentions lead to."""
        built = self.tools.built
        return () if built is None else await built.servers.read_mentions(parts, sink)

    def commands(self) -> Sequence[PromptCommand]:
        """Return the servers' prompts."""
        built = self.tools.built
        return () if built is None else built.servers.commands()

    async def run_command(self, arguments: str, show_text: ShowText) -> McpAnswer:
        """Run `/mcp`."""
        return await (await self.tools.get()).servers.run_command(arguments, show_text)

    def statuses(self) -> Sequence[McpServerStatus]:
        """Return all servers."""
        built = self.tools.built
        return () if built is None else built.servers.statuses()

    def restart(self, name: str) -> bool:
        """Connect a server anew."""
        built = self.tools.built
        return built is not None and built.servers.restart(name)

    async def register(self, entries: JsonValue) -> ProjectServers:
        """Register the servers of `entries` and of the workspace's files."""
        if entries is None and self.tools.built is None:
            session = self.tools.session
            if not await to_thread.run_sync(has_project_files, session):
                return ProjectServers()
        return await (await self.tools.get()).servers.register(entries)

    def start_registered(self, digests: Collection[str]) -> None:
        """Start registered servers."""
        if self.tools.built is not None:
            self.tools.built.servers.start_registered(digests)

    async def close(self) -> None:
        """Stop all servers."""
        if self.tools.built is not None:
            await self.tools.built.servers.close()


@frozen_dataclass
class _DeferredCheckpoints:
    tools: _DeferredTools

    def record_turn(self, prompt: UserMessage) -> AbstractAsyncContextManager[None]:
        """Record the changes of files made within the context."""
        return self.tools.record_turn(prompt)

    async def undo(self, arguments: str, sink: TurnSink) -> str:
        """Restore files; see the port."""
        return await (await self.tools.get()).checkpoints.undo(arguments, sink)

    async def restore(self, checkpoint: str, scope: RestoreScope, sink: TurnSink) -> RestoreReport:
        """Restore the state before a prompt; see the port."""
        return await (await self.tools.get()).checkpoints.restore(checkpoint, scope, sink)

    async def describe(self) -> str:
        """Return the available checkpoints."""
        return await (await self.tools.get()).checkpoints.describe()


@frozen_dataclass
class _DeferredSeenFiles:
    """The seen files of a new conversation: there are none before a tool has run."""

    tools: _DeferredTools

    async def note_attachments(self, parts: Sequence[UserPart]) -> None:
        """Note which files are attached whole to the prompt."""
        if any(isinstance(part, Attachment) for part in parts):
            await (await self.tools.get()).seen_files.note_attachments(parts)

    async def describe_changes(self) -> str:
        """Describe the files that changed since the model saw them."""
        if self.tools.built is None and not self.tools.session.seen_files.paths:
            return ""
        return await (await self.tools.get()).seen_files.describe_changes()


@frozen_dataclass
class _DeferredPorts:
    tools: _DeferredTools

    async def run(self, arguments: str) -> str:
        """Forward a port; see the port."""
        return await (await self.tools.get()).port_forwarding.run(arguments)


@frozen_dataclass
class _DeferredAsker:
    tools: _DeferredTools

    async def ask_to_continue(self, title: str, reason: str) -> bool | None:
        """Return the user's decision."""
        return await (await self.tools.get()).continue_asker.ask_to_continue(title, reason)
