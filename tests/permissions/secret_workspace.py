"""Workspace full of secrets with the real tools, and a user who rejects every request."""

import json
import os
import stat
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import anyio
from pydantic import JsonValue

from acp_server.hooks.rules import HookRules
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.models.scripted import ScriptedModel
from acp_server.permissions.modes import Mode
from acp_server.permissions.questions import (
    PermissionChoice,
    PermissionChoiceId,
    PermissionQuestion,
)
from acp_server.session.builder import build_session
from acp_server.session.context import SessionContext
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.skills import NoSkills
from acp_server.session.ports.toolset import SessionToolset
from acp_server.session.ports.user_questions import NoUserAsker
from acp_server.session.session import Session
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.factory import ToolFactory
from acp_server.tools.session_editor import SessionEditor
from acp_server.tools.tool_config import ToolConfig
from acp_server.tools.tool_settings import WebConfig
from acp_server.tools.toolbox import ConnectServers
from acp_server.turn.conversation import ToolCall
from acp_server.turn.events import Event
from acp_server.turn.ports import Model, Toolbox, ToolOutcome
from tests.support.fake_editors import NullEditor
from tests.support.server_parts import make_services
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

MARKER = "hush-4711"
"""Text contained in every secret, and nowhere else."""

PLAIN_FILES = {
    "README.md": "# A project\n",
    "src/app.py": "def main() -> None:\n    print('hello')\n",
    "src/deep/util.py": "VALUE = 1\n",
    "notes/today.md": "nothing\n",
    "public.draft": "for all to read\n",
    ".env.example": "KEY=\n",
}
SECRET_FILES = {
    ".env": f"KEY={MARKER}\n",
    ".env.production": f"KEY={MARKER}\n",
    "config/prod.env": f"KEY={MARKER}\n",
    "server.key": f"-----BEGIN-----\n{MARKER}\n",
    "BACKUP.PEM": f"{MARKER}\n",
    "credentials.json": f'{{"key": "{MARKER}"}}\n',
    ".npmrc": f"//registry/:_authToken={MARKER}\n",
    ".aws/credentials": f"[default]\nkey = {MARKER}\n",
    "private/plan.txt": f"{MARKER}\n",
    "idea.draft": f"{MARKER}\n",
    ".hermesignore": f"# {MARKER}\nprivate/\n*.draft\n!public.draft\n",
    ".git/config": f'[remote "origin"]\n\turl = https://me:{MARKER}@example.org/x\n',
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/hooks/pre-commit": "#!/bin/sh\n",
    ".git/objects/info/none": "",
    ".git/refs/heads/none": "",
    "agent/config.yaml": f"key: {MARKER}\n",
    "agent/acp/permissions.json": "{}\n",
}


Snapshot: TypeAlias = Mapping[str, tuple[int, str]]


@dataclass(slots=True)
class SecretWorkspace:
    """Directory with a workspace, an outside directory and this program's settings."""

    base: Path
    root: Path = field(init=False)
    outside: Path = field(init=False)
    home: Path = field(init=False)
    before: Snapshot = field(init=False, default_factory=dict[str, tuple[int, str]])
    """Initial snapshot, for tests that store one."""
    model: Model | None = None
    """Model of the session; None unless the test sets one."""

    def __post_init__(self) -> None:
        self.root, self.outside = self.base / "workspace", self.base / "outside"
        self.home = self.base / "home"

    @property
    def config_home(self) -> Path:
        return self.root / "agent"

    def write_file(self, path: str | Path, text: str) -> Path:
        """Create a file; relative paths are inside the workspace."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def snapshot(self) -> Snapshot:
        """Return all paths with kind and mode, and contents or link targets."""
        found: dict[str, tuple[int, str]] = {}
        _add_states(str(self.base), "", found)
        return found

    def fill_placeholders(self, value: JsonValue) -> JsonValue:
        """Return arguments with their placeholders replaced."""
        match value:
            case str():
                paths = {"ROOT": self.root, "OUTSIDE": self.outside, "HOME": self.home}
                for name, path in paths.items():
                    value = value.replace(f"<{name}>", str(path))
                return value
            case dict():
                return {name: self.fill_placeholders(each) for name, each in value.items()}
            case _:
                return value


def create_secret_workspace(base: Path) -> SecretWorkspace:
    """Create the workspace with its files."""
    space = SecretWorkspace(base)
    for name, text in (PLAIN_FILES | SECRET_FILES).items():
        space.write_file(name, text)
    for path in (space.outside / "plans.txt", space.home / ".ssh/id_rsa", space.home / ".bashrc"):
        space.write_file(path, f"{MARKER}\n")
    links = {
        space.root / "harmless.txt": space.root / ".env",
        space.root / "far.txt": space.outside / "plans.txt",
        space.root / "door": space.outside,
        space.root / "round": space.root / "round",
        space.root / "hooks": space.root / ".git/hooks",
        space.outside / "inward.py": space.root / "src/app.py",
    }
    for link, target in links.items():
        link.symlink_to(target)
    return space


def _add_states(folder: str, prefix: str, found: dict[str, tuple[int, str]]) -> None:
    """Add what is in a folder; by plain strings, since each attempt takes a snapshot."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name, mode = f"{prefix}{entry.name}", entry.stat(follow_symlinks=False).st_mode
            found[name] = (mode, _contents(entry.path, mode))
            if stat.S_ISDIR(mode):
                _add_states(entry.path, f"{name}/", found)


def _contents(path: str, mode: int) -> str:
    """Return the text of a file or the target of a link; nothing for others."""
    if stat.S_ISLNK(mode):
        return os.readlink(path)  # noqa: PTH115  as above
    if not stat.S_ISREG(mode):
        return ""
    with open(path, "rb") as file:  # noqa: PTH123  as above
        return file.read().decode(errors="replace")


@dataclass(slots=True)
class RecordingUser:
    """User who answers all requests alike and records them."""

    answer: PermissionChoiceId = "reject_once"
    questions: list[PermissionQuestion] = field(default_factory=list[PermissionQuestion])

    async def ask(
        self, question: PermissionQuestion, choices: Sequence[PermissionChoice]
    ) -> PermissionChoiceId | None:
        del choices
        self.questions.append(question)
        return self.answer


class UserWithoutForms(NoUserAsker):
    """A present user whose client has no forms."""

    is_attended = True


@dataclass(slots=True)
class EventLog:
    """Event sink that records all events."""

    events: list[Event] = field(default_factory=list[Event])

    async def emit(self, event: Event) -> None:
        self.events.append(event)

    def emit_now(self, event: Event) -> None:
        self.events.append(event)


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """Tools of a session in a `SecretWorkspace`."""

    workspace: SecretWorkspace
    session: Session
    toolbox: Toolbox
    user: RecordingUser
    log: EventLog = field(default_factory=EventLog)

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], call_id: str = "call"
    ) -> ToolOutcome:
        """Make a call: stream its arguments, then run it."""
        text = json.dumps(self.workspace.fill_placeholders(dict(arguments)))
        live = await self.toolbox.open(call_id, tool, self.log)
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            await live.write(piece)
        return await live.run(ToolCall(call_id, tool, text))

    def mark_read(self, *names: str) -> None:
        """Let the model have read files of the workspace."""
        for name in names:
            path = (self.workspace.root / name).resolve()
            self.session.context.seen_files.note_written(str(path), path.read_text())


@asynccontextmanager
async def open_tool_caller(
    space: SecretWorkspace,
    mode: Mode,
    user: RecordingUser | None = None,
    additional: tuple[Path, ...] = (),
    web: WebConfig | None = None,
    hooks: HookRules | None = None,
) -> AsyncGenerator[ToolCaller]:
    """Open a session in a `SecretWorkspace`; exiting ends all its processes."""
    config = replace(make_tool_config(space), web=web or WebConfig(), hooks=hooks or HookRules())
    async with open_tool_caller_with(space, mode, config, user, additional) as caller:
        yield caller


def make_tool_config(workspace: SecretWorkspace) -> ToolConfig:
    """Return the tool configuration of a `SecretWorkspace`."""
    environment = {"PATH": os.defpath, "HOME": str(workspace.home), "DATABASE_KEY": MARKER}
    environment |= {"ACP_TEST_KEY": "hush-key-4711"}
    return ToolConfig(workspace.home, workspace.config_home, environment, ("ACP_TEST_KEY",))


@asynccontextmanager
async def open_tool_caller_with(
    workspace: SecretWorkspace,
    mode: Mode,
    config: ToolConfig,
    user: RecordingUser | None = None,
    additional: tuple[Path, ...] = (),
    join_servers: ConnectServers | None = None,
) -> AsyncGenerator[ToolCaller]:
    """Open a session with its own tool configuration; exiting ends all its processes."""
    user = user or RecordingUser()
    catalog = FixedCatalog("test", "test", lambda: workspace.model or ScriptedModel("nothing"))
    factory = ToolFactory(config)
    async with anyio.create_task_group() as tasks:

        async def build(context: SessionContext, servers: Sequence[ServerConfig]) -> SessionToolset:
            del servers
            editor = SessionEditor(NullEditor(), user, UserWithoutForms())
            toolset = factory.create_toolset(context, editor, tasks, join_servers)
            # The session's own search for skills writes a snapshot: not an effect of a call.
            return replace(toolset, skills=NoSkills())

        services = replace(make_services(catalog, mode=mode), toolset=build)
        session = build_session(SessionWorkspace(workspace.root, additional), services)
        toolbox = (await session.tools.prepare()).toolbox
        try:
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                yield ToolCaller(workspace, session, toolbox, user)
        finally:
            # on a timeout the scope is cancelled, but the tools' processes must still end
            with anyio.CancelScope(shield=True):
                await toolbox.close()
                await factory.close()
            tasks.cancel_scope.cancel()
