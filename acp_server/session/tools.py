"""The tools of a session: built on first use, and ready once its MCP servers are."""

from collections.abc import Collection, Sequence

import anyio

from acp_server.session.context import SessionContext
from acp_server.session.empty_toolbox import EmptyToolbox
from acp_server.session.filtered_toolbox import FilteredToolbox
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.toolset import BuildToolset, SessionToolset
from acp_server.turn.ports import Toolbox

MCP_COMMANDS = "mcp"
COMMAND_FILES = "files"
SMALL_WINDOW_TOKENS = 16_000
ESSENTIAL_TOOLS = frozenset(
    {"read_file", "search_files", "patch", "write_file", "terminal", "process", "todo"}
)
"""The tools of a model whose context window the descriptions of all tools would fill."""
SMALL_WINDOW = (
    "The context window of {model} is small, so it gets only the tools for files and commands. A "
    "model with a larger window gets all tools."
)


class SessionTools:
    """Builds and provides one session's tools, and lists the commands that come with them."""

    def __init__(
        self, context: SessionContext, build: BuildToolset, servers: Sequence[ServerConfig] = ()
    ) -> None:
        """Prepare; `servers` are the MCP servers that the editor named."""
        self.current = SessionToolset(EmptyToolbox())
        """The toolset as far as it is built: empty at first."""
        self._context = context
        self._build = build
        self._servers = servers
        self._build_lock = anyio.Lock()
        self._is_built = False
        self._has_skills = False
        self._is_closed = False
        # The user of a loaded session was told before.
        is_loaded = len(context.conversation) > 0
        self._small_models = {context.options.model_id} if is_loaded else set[str]()

    async def prepare(self) -> SessionToolset:
        """Return the toolset, built at the first call together with the session's skills."""
        # The warm-up and a first prompt may both come here; only one may build the tools.
        async with self._build_lock:
            if not self._is_built:
                self.current = await self._build(self._context, self._servers)
                # Only now: a build that failed is tried again by the next prompt.
                self._is_built = True
                if self._is_closed:  # `close` ran during the build and saw no toolset to close
                    await self.current.toolbox.close()
                else:
                    # With the toolset in place: a server that connects at once lists its commands
                    # through it.
                    self.current.servers.start(self._list_server_commands)
            # Skills come second: if loading them fails, the tools are not built again by the retry.
            if not self._has_skills:
                await self.current.skills.load(self._list_skills)
                self._has_skills = True
                self._list_skills()
                # After the skills: a skill keeps its name if a file has the same one.
                await self.current.command_files.load(self._is_taken, self._list_command_files)
                self._list_command_files()
                await self.current.agents.load()
                if self._is_closed:
                    self._close_followers()
        return self.current

    async def complete(self) -> None:
        """Import and build what the first request does not need."""
        if not self._is_closed:
            await (await self.prepare()).complete()

    async def for_turn(self) -> Toolbox:
        """Return the tools for a turn, including those of MCP servers."""
        toolset = await self.prepare()
        # Only before a request, not in `prepare`: slow servers must not delay the warm-up.
        await toolset.servers.wait_ready()
        await self._context.external_memory.wait_ready()
        allowed = self._context.restrictions.allowed_tools
        options = self._context.options
        if options.catalog.meter(options.model_id).window_tokens < SMALL_WINDOW_TOKENS:
            self._tell_about_small_window(options.model_id)
            names = ESSENTIAL_TOOLS if allowed is None else ESSENTIAL_TOOLS.intersection(allowed)
            allowed = sorted(names)
        toolbox = toolset.toolbox if allowed is None else FilteredToolbox(toolset.toolbox, allowed)
        return toolset.accept_other_names(toolbox)

    def _tell_about_small_window(self, model_id: str) -> None:
        """Tell the user once per model why the model has few tools."""
        if model_id not in self._small_models:
            self._small_models.add(model_id)
            self._context.notices.add(SMALL_WINDOW.format(model=model_id))

    async def names(self) -> frozenset[str]:
        """Return the names of the tools for a turn."""
        return frozenset(spec.name for spec in (await self.for_turn()).specs)

    def take_notices(self) -> Sequence[str]:
        """Return news of MCP servers and agents for the next prompt, each in square brackets."""
        notices = self.current.servers.take_notices(self._context.restrictions.allowed_tools)
        return [*(f"[{notice}]" for notice in notices), *self.current.agents.take_notices()]

    def start_project_servers(self, digests: Collection[str]) -> None:
        """Start the workspace's MCP servers that the user approved, by the uses' digests."""
        if not self._is_closed:
            self.current.servers.start_registered(digests)

    def stop_following(self) -> None:
        """Stop following the skills, so that no change is reported to a closing session."""
        self._is_closed = True
        self._close_followers()

    def _close_followers(self) -> None:
        self.current.skills.close()
        self.current.command_files.close()
        self.current.agents.close()

    async def close(self) -> None:
        """Stop everything that the tools left running; tools being built are closed afterwards."""
        # Set before the await: servers that are still being set up must not start afterwards.
        self._is_closed = True
        async with anyio.create_task_group() as closing:
            closing.start_soon(self.current.servers.close)
            closing.start_soon(self.current.toolbox.close)

    def _list_server_commands(self) -> None:
        # Servers change their state while they are stopped; a closing session reports nothing.
        if not self._is_closed:
            self._context.commands.set_owned(MCP_COMMANDS, self.current.servers.commands())

    def _list_command_files(self) -> None:
        commands = self.current.command_files.commands()
        self._context.commands.set_owned(COMMAND_FILES, commands)

    def _is_taken(self, name: str) -> bool:
        """Return whether a command that is no file has this name."""
        commands = self._context.commands
        return (commands.is_known(name) and not commands.is_owned(name, COMMAND_FILES)) or any(
            skill.name == name for skill in self.current.skills.commands(commands.is_known)
        )

    def _list_skills(self) -> None:
        commands = self._context.commands
        commands.set_listed(self.current.skills.commands(commands.is_known))
