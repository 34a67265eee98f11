"""The tools that a session has, joined to its files, its shell, its editor and its gate."""

from acp_server.permissions.gate import PermissionGate
from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.survey import Surveyor
from acp_server.tools.attachments import Attachments
from acp_server.tools.editing import Workshop
from acp_server.tools.files.desk import FileDesk
from acp_server.tools.loading import Premises, Surroundings
from acp_server.tools.patch import patch_tool
from acp_server.tools.process import process_tool
from acp_server.tools.read_file import read_file_tool
from acp_server.tools.search_files import search_files_tool
from acp_server.tools.shell.background import BackgroundCommands
from acp_server.tools.shell.session import ShellSession
from acp_server.tools.shell.watcher import Watcher
from acp_server.tools.terminal import Shell, terminal_tool
from acp_server.tools.todo import todo_tool
from acp_server.tools.toolbox import SessionToolbox
from acp_server.tools.write_file import write_file_tool

TOOL_NAMES = (
    "read_file",
    "search_files",
    "write_file",
    "patch",
    "terminal",
    "process",
    "todo",
)
"""The names of all tools, in the order in which the model is told of them."""


class SessionToolMaker:
    """Makes the tools of sessions; owns what they share, which is who ends their commands."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises
        self._watcher: Watcher | None = None

    def toolbox(self, around: Surroundings) -> SessionToolbox:
        """Return the tools of a session."""
        gate = self._gate(around)
        workspace, user_home = around.session.workspace, self._premises.user_home
        desk = FileDesk(workspace, around.editor, user_home)
        workshop = Workshop(desk, gate, workspace, user_home)
        shell = self._shell(around)
        tools = (
            read_file_tool(workshop),
            search_files_tool(workshop),
            write_file_tool(workshop),
            patch_tool(workshop),
            terminal_tool(workshop, shell),
            process_tool(workshop, shell),
            todo_tool(),
        )
        return SessionToolbox(tools, gate, Attachments(workshop).attach, shell.background.close)

    async def close(self) -> None:
        """Let go of the process that watches over commands."""
        if self._watcher is not None:
            await self._watcher.close()

    def _gate(self, around: Surroundings) -> PermissionGate:
        session, premises = around.session, self._premises
        roots = (session.workspace.cwd, *session.workspace.additional)
        return PermissionGate(
            mode=lambda: session.mode,
            asker=around.asker,
            cancel_turn=session.cancel,
            surveyor=Surveyor(roots, premises.user_home, premises.own_folder),
            store=RuleStore(premises.own_folder / "acp" / "permissions.json"),
            root=session.workspace.cwd.resolve(),
        )

    def _shell(self, around: Surroundings) -> Shell:
        premises = self._premises
        if self._watcher is None:
            self._watcher = Watcher(around.tasks, premises.environment)
        shell = ShellSession(
            self._watcher, around.tasks, premises.environment, premises.secret_names
        )
        return Shell(shell, BackgroundCommands(shell), around.editor, premises.secret_names)
