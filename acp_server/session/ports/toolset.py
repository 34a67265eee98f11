"""The tools port of a session: everything that is built together, at the first use."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from acp_server.permissions.trust import ProjectUse
from acp_server.session.context import SessionContext
from acp_server.session.ports.agents import AgentsPort, NoAgents
from acp_server.session.ports.checkpoints import Checkpoints, NoCheckpoints
from acp_server.session.ports.command_files import CommandFilesPort, NoCommandFiles
from acp_server.session.ports.mcp import McpServersPort, NoMcpServers
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.port_forwarding import NoPortForwarding, PortForwarding
from acp_server.session.ports.seen_files import NoSeenFileChecks, SeenFileChecks
from acp_server.session.ports.skills import NoSkills, SkillsPort
from acp_server.session.ports.user_questions import NoUserAsker
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Message
from acp_server.turn.ports import Toolbox
from acp_server.turn.repetition import ContinueAsker

if TYPE_CHECKING:
    from acp_server.permissions.rules import ListedRule, PermissionRule

NoticeSource = Callable[[], Sequence[str]]
"""Returns its notices for the model since the last call, each in square brackets.

A notice is an event that no call of the model asked for, for example that a background command
ended. Notices are delivered with the next request; none is made just for them.
"""


CarryOver = Callable[[Sequence[Message]], Sequence[Message]]
"""Returns an exchange that restates what the tools keep in messages, for a conversation that loses
these messages."""


def _carry_nothing(messages: Sequence[Message]) -> Sequence[Message]:
    del messages
    return ()


def _approve_nothing(digests: Collection[str]) -> None:
    del digests


def _forget_nothing(rule: "PermissionRule") -> None:
    del rule


async def _complete_nothing() -> None: ...


def ignore_turn_end(reason: str) -> None:
    """Do nothing: no hook waits for the end of turns."""
    del reason


@frozen_dataclass
class SessionToolset:
    """The tools of one session, and the services that are built with them."""

    toolbox: Toolbox
    skills: SkillsPort = field(default_factory=NoSkills)
    servers: McpServersPort = field(default_factory=NoMcpServers)
    command_files: CommandFilesPort = field(default_factory=NoCommandFiles)
    agents: AgentsPort = field(default_factory=NoAgents)
    checkpoints: Checkpoints = field(default_factory=NoCheckpoints)
    seen_files: SeenFileChecks = field(default_factory=NoSeenFileChecks)
    port_forwarding: PortForwarding = field(default_factory=NoPortForwarding)
    take_notices: NoticeSource = tuple
    carry_over: CarryOver = _carry_nothing
    continue_asker: ContinueAsker = field(default_factory=NoUserAsker)
    """Asks the user whether a turn may go on."""
    on_turn_end: Callable[[str], None] = ignore_turn_end
    """Called with the reason when a turn has ended; not waited for."""
    list_rules: "Callable[[], Sequence[ListedRule]]" = tuple
    """Returns the user's "always" answers that hold in this session. Blocks."""
    forget_rule: "Callable[[PermissionRule], None]" = _forget_nothing
    """Forgets a rule of `list_rules`, also the saved one. Blocks; raises OSError."""
    describe_rules: Callable[[], str] = str
    """Describes the rules of the workspace's files as Markdown; empty if there are none. Blocks."""
    has_new_project_rules: Callable[[], bool] = bool
    """Returns whether a call met rules of the workspace's files that were not listed yet."""
    list_project_rules: Callable[[], Sequence[ProjectUse]] = tuple
    """Returns what files of the workspace allow, for the user to decide on. Blocks."""
    approve_project_rules: Callable[[Collection[str]], None] = _approve_nothing
    """Lets those rules count whose digests it is given."""
    accept_other_names: Callable[[Toolbox], Toolbox] = lambda toolbox: toolbox
    """Returns a toolbox whose tools may also be called as those of other agents.

    It goes around a restricted toolbox, so that a restriction holds for every name of a tool.
    """
    complete: Callable[[], Awaitable[object]] = _complete_nothing
    """Imports and builds what the first request does not need."""


class BuildToolset(Protocol):
    """Builds the toolset of a session; `servers` are the MCP servers that the editor named."""

    def __call__(
        self, context: SessionContext, servers: Sequence[ServerConfig]
    ) -> Awaitable[SessionToolset]:
        """Return the toolset, with nothing started yet."""
        ...
