"""The parts of a session that exist before its tools do."""

from acp_server.session.checkpoint_ids import CheckpointIds
from acp_server.session.commands.registry import CommandRegistry
from acp_server.session.conversation_rewinds import ConversationRewinds
from acp_server.session.diagnostics import DiagnosticsStore
from acp_server.session.ports.external_memory import ExternalMemorySession
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.project.restrictions import ProjectRestrictions
from acp_server.session.recorder import SessionRecorder
from acp_server.session.running_tasks import RunningTasks
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.session.seen_files import SeenFiles
from acp_server.session.session_models import SessionModels
from acp_server.session.turn_queue import TurnQueue
from acp_server.session.user_notices import UserNotices
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Conversation
from acp_server.turn.usage_totals import UsageTotals


@frozen_dataclass
class SessionContext:
    """One session as its tools, sub-agents and reviews see it.

    They call these parts; they never attach callbacks to them or replace any.
    """

    id: str
    workspace: SessionWorkspace
    conversation: Conversation
    seen_files: SeenFiles
    totals: UsageTotals
    options: SelectedOptions
    restrictions: ProjectRestrictions
    models: SessionModels
    recorder: SessionRecorder
    notices: UserNotices
    diagnostics: DiagnosticsStore
    tasks: RunningTasks
    queue: TurnQueue
    commands: CommandRegistry
    outputs: SavedOutputs
    checkpoint_ids: CheckpointIds
    rewinds: ConversationRewinds
    external_memory: ExternalMemorySession
