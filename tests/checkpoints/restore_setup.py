"""Restores in one process: real files and checkpoints, and a gate that answers by a function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.files import FileImage
from acp_server.checkpoints.manager import CheckpointManager, SnapshotScope
from acp_server.checkpoints.records import FileVersion, RecordedChange, TurnOrigin, TurnRecord
from acp_server.checkpoints.turn_range import TurnRange
from acp_server.checkpoints.turn_recorder import TouchedFile
from acp_server.permissions.effects import RestoreFiles
from acp_server.permissions.gate import Refusal
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.checkpoint_ids import CheckpointIds
from acp_server.session.ports.editor import EditorPort
from acp_server.session.seen_files import SeenFiles
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.edit.restore import Restorer, RestoreResult
from acp_server.tools.edit.restore_plan import RestorePlan, RestorePlanner, RestoreStep
from acp_server.tools.files.seen_file_guard import SeenFileGuard
from acp_server.turn.events import CallChanged, CallContent
from tests.tools.files.file_services import FileServiceSetup, create_service
from tests.turn.fake_sinks import MemorySink, SequentialIds


@dataclass(slots=True)
class AnsweringGate:
    """Gate that records what is asked and answers by a function; the default permits all."""

    answer: Callable[[PermissionQuestion], Refusal | None] = lambda _: None
    is_preview_allowed: bool = True
    asked: list[PermissionQuestion] = field(default_factory=list[PermissionQuestion])

    def enter_queue(self, call_id: str, tool: str = "") -> None:
        """Do nothing: no order is needed."""

    def yield_queue(self, call_id: str) -> None:
        """Do nothing."""

    def leave_queue(self, call_id: str) -> None:
        """Do nothing."""

    async def authorize(self, question: PermissionQuestion) -> Refusal | None:
        """Record the question and answer it."""
        self.asked.append(question)
        return self.answer(question)

    async def forbid_tool(self, tool: str) -> Refusal | None:
        """Forbid no tool."""
        del tool

    def search_excludes(self) -> Sequence[str]:
        """Exclude nothing."""
        return ()

    async def can_preview(self, path: Path) -> bool:
        """Return what the test has set."""
        del path
        return self.is_preview_allowed


@dataclass(slots=True)
class RestoreSetup:
    """A workspace with its checkpoints; `restore` runs inside a turn of its own."""

    service: FileServiceSetup
    gate: AnsweringGate
    manager: CheckpointManager
    planner: RestorePlanner
    restorer: Restorer
    sink: MemorySink
    config_home: Path

    def manager_of(self, session_id: str) -> CheckpointManager:
        """Return the checkpoints of another session in the same workspace."""
        return create_manager(self.root, self.config_home, session_id)

    @property
    def root(self) -> Path:
        """The workspace."""
        return self.service.root

    async def store(self, before: FileImage | None) -> FileVersion | None:
        """Store a content in the checkpoints and return its version."""
        if before is None:
            return None
        async with self.manager.turn("go"):
            await self.manager.store_or_fail([TouchedFile(self.root / "stored", before)])
        return before.version

    async def change(
        self, name: str, before: FileImage | None, after: FileImage | None
    ) -> RecordedChange:
        """Return the record of a change that a turn made, its former content stored."""
        version = None if after is None else after.version
        return RecordedChange(str(self.root / name), await self.store(before), version)

    async def plan(self, *changes: RecordedChange) -> RestorePlan:
        """Plan to restore the files of one turn."""
        record = TurnRecord("1", TurnOrigin("s", "go", 0.0), changes=changes)
        return await self.planner.plan(TurnRange((record,)))

    async def describe(self, *steps: RestoreStep) -> tuple[CallContent, ...]:
        """Describe the changes of some steps."""
        return await self.planner.describe_changes(steps)

    async def restore(
        self, *changes: RecordedChange, notes: Sequence[str] = (), folders: Sequence[str] = ()
    ) -> RestoreResult:
        """Plan and restore the files of one turn."""
        plan = await self.plan(*changes)
        async with self.manager.turn("undo"):
            return await self.restorer.restore(plan, notes, folders)

    def names(self, paths: Sequence[str] | Mapping[str, str]) -> list[str]:
        """Return paths relative to the workspace."""
        return [Path(path).relative_to(self.root).as_posix() for path in paths]

    @property
    def titles(self) -> list[str]:
        """The questions' titles."""
        return [question.title for question in self.gate.asked]

    @property
    def lost(self) -> list[tuple[str, ...]]:
        """The files whose later changes would be lost, for each question."""
        effects = [question.effect for question in self.gate.asked]
        return [effect.changed_since for effect in effects if isinstance(effect, RestoreFiles)]

    @property
    def call_statuses(self) -> list[str]:
        """The statuses that the calls were given, in order."""
        changed = [each for each in self.sink.events if isinstance(each, CallChanged)]
        return [each.status for each in changed if each.status is not None]


def text_file(text: str, mode: int = 0o644) -> FileImage:
    """Return a text file."""
    return FileImage("file", text.encode(), mode)


def create_restore_setup(
    folder: Path, gate: AnsweringGate | None = None, editor: EditorPort | None = None
) -> RestoreSetup:
    """Create a setup in a directory; git is not used, so only edits are recorded."""
    service = create_service(folder, editor)
    gate = gate or AnsweringGate()
    manager = create_manager(service.root, folder / "own", "s")
    guard = SeenFileGuard(service.files, SeenFiles(), service.root)
    workspace = SessionWorkspace(service.root)
    services = EditServices(service.files, gate, workspace, folder / "home", None, manager, guard)
    sink = MemorySink()
    restorer = Restorer(services, manager, sink, SequentialIds())
    planner = RestorePlanner(services, manager)
    return RestoreSetup(service, gate, manager, planner, restorer, sink, folder / "own")


def create_manager(root: Path, config_home: Path, session_id: str) -> CheckpointManager:
    """Return the checkpoints of a session."""
    notices: list[str] = []
    scope = SnapshotScope(session_id, (root,), config_home, {}, CheckpointIds().create)
    return CheckpointManager(scope, CheckpointConfig(), notices.append)
