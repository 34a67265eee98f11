"""Applies a project's requests to a session once the user trusts the workspace.

Reports the requests that are used, and why others are not. `project_settings` defines the requests
that are allowed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from anyio import to_thread

from acp_server.permissions.trust import ProjectUse, WorkspaceTrust
from acp_server.session.context import SessionContext
from acp_server.session.project.settings import (
    ProjectSettings,
    parse_project_settings,
    stricter_mode,
)
from acp_server.session.prompting.context_maintenance import show_notices
from acp_server.session.prompting.provider import PromptProvider
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.session.tools import SessionTools
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.ports import TurnSink

MAX_NAMED = 10
SERVERS = "mcp_servers"
MODEL = "model"
NOT_TRUSTED = "the workspace is not trusted (`acp-server trust`)"
NOW_USED = "You trusted this workspace. Its settings apply from now on: {uses}"


@dataclass(slots=True)
class ProjectRequests:
    """The requests of one session's project."""

    context: SessionContext
    provider: Lazy[PromptProvider]
    tools: SessionTools
    system: SystemPrompt
    trust: WorkspaceTrust | None
    """Knows whether the workspace is trusted; without it no workspace is."""
    _is_read: bool = field(default=False, init=False)
    _pending: "_ProjectRequest | None" = field(default=None, init=False)
    """The requests that still wait for trust, which may be granted while the session runs."""

    async def apply(self, sink: TurnSink) -> bool:
        """Apply the project's requests if it is trusted; return whether that changed anything.

        The first call tells the user which requests are not used and why; later calls only report
        that waiting requests now apply. Permission rules that calls met since are asked about.
        """
        has_changed = await self._apply_requests(sink)
        toolset = self.tools.current
        if toolset.has_new_project_rules():
            await self._decide_rules(await to_thread.run_sync(toolset.list_project_rules))
        return has_changed

    async def _apply_requests(self, sink: TurnSink) -> bool:
        if not self._is_read:
            is_trusted = await self._read(sink)
        elif self._pending is not None and await self._is_trusted(self._pending):
            is_trusted = True
            # Said first: if the turn is cancelled here, the requests stay pending.
            notice = NOW_USED.format(uses="; ".join(self._pending.summary))
            await show_notices((notice,), sink)
        else:
            is_trusted = False
        if not is_trusted or self._pending is None:
            return False
        request, self._pending = self._pending, None
        approved = await self._approved(request.servers)
        # Before the prompt is discarded, which the next build writes with what is usable then.
        if request.agents:
            await self.tools.current.agents.refresh()
        self._apply_request(request, approved)
        await self._decide_rules(request.rules)
        if request.commands:
            await self.tools.current.command_files.refresh()
        return True

    async def _read(self, sink: TurnSink) -> bool:
        """Read the requests, tell the user about them, and return whether they are trusted."""
        values = {**(await self.provider.get()).project_settings()}
        catalog, model = self.context.options.catalog, values.get(MODEL)
        # The endpoints are asked if the requested model is unknown.
        if model is not None and all(choice.id != model for choice in catalog.choices()):
            await catalog.refresh()
        models = [choice.id for choice in catalog.choices()]
        # Only tool names that exist can be allowed, so the tools are built first.
        toolset = await self.tools.prepare()
        # Only registered here: a repository's servers are programs, and none starts without trust.
        added = await toolset.servers.register(values.pop(SERVERS, None))
        names = [spec.name for spec in toolset.toolbox.specs]
        settings = parse_project_settings(values, models, names, added.tool_prefixes)
        skills = _describe_own("skills", await toolset.skills.untrusted_names())
        await toolset.command_files.refresh()  # files may have come since the session opened
        await toolset.agents.refresh()
        commands = _describe_own("commands", toolset.command_files.untrusted_names())
        agents = _describe_own("agents", toolset.agents.untrusted_names())
        rules = await to_thread.run_sync(toolset.list_project_rules)
        request = _ProjectRequest(settings, skills, added.servers, commands, agents, rules)
        # Without any request there is nothing to ask the user about.
        is_trusted = bool(request.summary) and await self._is_trusted(request)
        unused = _explain_unused(request, is_trusted=is_trusted)
        await show_notices((*unused, *added.problems), sink)
        # Last: if the turn is cancelled before, the next one reads and reports the requests again.
        self._is_read = True
        self._pending = request if request.summary else None
        return is_trusted

    async def _is_trusted(self, request: "_ProjectRequest") -> bool:
        return self.trust is not None and await self.trust.is_trusted(request.summary)

    async def _approved(self, uses: Sequence[ProjectUse]) -> Collection[str]:
        return () if self.trust is None else await self.trust.approved(uses)

    async def _decide_rules(self, uses: Sequence[ProjectUse]) -> None:
        """Let the permission rules count that the user agrees to, if the workspace is trusted."""
        if uses and self.trust is not None and await self.trust.is_trusted(()):
            self.tools.current.approve_project_rules(await self._approved(uses))

    def _apply_request(self, request: "_ProjectRequest", approved: Collection[str]) -> None:
        # Prompt and tools list skills, agents and tools: they must be written with the new ones.
        should_rewrite = bool(request.skills or request.agents or approved)
        if approved:
            self.tools.start_project_servers(approved)
        settings, options = request.settings, self.context.options
        # Assigned directly, and stored and reported once, after all changes.
        options.mode = stricter_mode(options.mode, settings.mode)
        options.chosen_model = settings.model or options.chosen_model
        if self.context.restrictions.replace(settings.tools, settings.skills) or should_rewrite:
            self.system.discard()
        self.context.recorder.save_options(options)
        options.announce()


@frozen_dataclass
class _ProjectRequest:
    """A project's requested settings, and the phrases for what it adds."""

    settings: ProjectSettings
    skills: Sequence[str]
    servers: Sequence[ProjectUse]
    commands: Sequence[str]
    agents: Sequence[str]
    rules: Sequence[ProjectUse]
    """What permission rules of its files allow."""

    @property
    def summary(self) -> Sequence[str]:
        """Everything that would be used, as phrases."""
        return (*self.settings.summary, *self.additions)

    @property
    def additions(self) -> Sequence[str]:
        """What the workspace adds, as phrases."""
        decided = (each.phrase for each in (*self.servers, *self.rules))
        return (*self.skills, *decided, *self.commands, *self.agents)


def _describe_own(kind: str, names: Sequence[str]) -> Sequence[str]:
    """Return a phrase for the files of a kind that a workspace adds; nothing if there are none."""
    return (f"{kind} of its own: {_join_names(names)}",) if names else ()


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"{', '.join(names[:MAX_NAMED])}{more}"


def _explain_unused(wish: _ProjectRequest, *, is_trusted: bool) -> list[str]:
    parsed = wish.settings
    unused = [f"The project's .hermes.md sets {each}; it is not used" for each in parsed.refused]
    if not is_trusted:
        unused += [f"The project's .hermes.md asks for {e}; {NOT_TRUSTED}" for e in parsed.summary]
        unused += [f"The project has {e}; {NOT_TRUSTED}" for e in wish.additions]
    return unused
