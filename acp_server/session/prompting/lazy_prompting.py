"""Deferred imports of the prompt engine and the file watcher, which a session's start can spare."""

from functools import partial
from typing import TYPE_CHECKING

from acp_server.session.ports.observer import ShowNotice, hide_notice
from acp_server.session.prompting.file_watch import EventSource, FileWatch
from acp_server.session.prompting.prompt_config import PromptConfig
from acp_server.session.prompting.provider import PromptProvider
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.gc_pause import pause_gc_on_first_call
from acp_server.startup.lazy_import import make_lazy
from acp_server.startup.lazy_value import Lazy

if TYPE_CHECKING:
    from acp_server.session.prompting.shared_reads import SharedReads


def lazy_prompt_provider(
    config: PromptConfig,
    workspace: SessionWorkspace,
    show_notice: ShowNotice = hide_notice,
    watch: FileWatch | None = None,
    shared_reads: "SharedReads | None" = None,
) -> Lazy[PromptProvider]:
    """Return the prompt provider of a workspace, imported at its first use."""
    return Lazy(partial(_create_provider, config, workspace, show_notice, watch, shared_reads))


@pause_gc_on_first_call
def _create_provider(
    config: PromptConfig,
    workspace: SessionWorkspace,
    show_notice: ShowNotice,
    watch: FileWatch | None,
    shared_reads: "SharedReads | None",
) -> PromptProvider:
    from acp_server.session.prompting.workspace_prompt import WorkspacePromptProvider

    return WorkspacePromptProvider(
        config, workspace, watch, shared_reads=shared_reads, show_notice=show_notice
    )


def open_directory_events() -> EventSource:
    """Return the event source for a `FileWatch`; blocks for the import."""
    # Its `__init__` imports what starts processes, for a function that is not used here.
    make_lazy(("watchfiles",))
    from acp_server.session.prompting.directory_events import DirectoryEvents

    return DirectoryEvents()
