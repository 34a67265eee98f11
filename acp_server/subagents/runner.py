"""Runs the sub-agent tasks of a session: a limited number at once, each by its own sub-agent.

A sub-agent shares the session's model, files, gate and hints; it has its own conversation, budget,
shell and tools. It knows nothing but its goal and its context.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import anyio
from anyio.abc import TaskGroup

from acp_server.permissions.gate import Gate
from acp_server.session.ids import new_id
from acp_server.session.pending_notices import Source
from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.context_maintenance import SessionUpkeep
from acp_server.session.prompting.provider import Briefing, Subject
from acp_server.session.session import Session
from acp_server.startup.fast_dataclass import frozen
from acp_server.subagents.context_maintenance import TaskUpkeep
from acp_server.subagents.event_sinks import CallScreen, TaskScreen
from acp_server.subagents.gate import TaskGate, name_of
from acp_server.subagents.subagent import Worker
from acp_server.subagents.task import Progress, Rules, Task, TaskSpent
from acp_server.subagents.toolbox import TaskToolbox
from acp_server.subagents.transcript import Transcript
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Kit
from acp_server.turn.ports import Sink, Toolbox


@frozen
class Tools:
    """Tools of one task, and the source of their pending notices."""

    toolbox: Toolbox
    tidings: Source


MakeTools = Callable[[Gate, frozenset[str]], Tools]
"""Builds some of the session's tools again, behind a gate, with their own shell."""


@frozen
class Premises:
    """Dependencies of the sub-agents of a session."""

    session: Session
    gate: Gate
    briefing: Briefing
    """Provides the system prompt of sub-agents, which differs from the session's."""
    make_tools: MakeTools
    tasks: TaskGroup
    """Task group in which the clean-up of cancelled tasks runs."""


class Office:
    """Runs the sub-agents of one session."""

    def __init__(self, premises: Premises, rules: Rules) -> None:
        self._premises = premises
        self._rules = rules
        self._desks = anyio.Semaphore(rules.max_parallel)
        self._prompts: dict[tuple[str, frozenset[str]], str] = {}
        self._writing = anyio.Lock()

    def begin(self, tasks: Sequence[Task]) -> Sequence[Progress]:
        """Return the progress of tasks that have not started yet."""
        spent = self._premises.session.spent
        return [Progress(task, TaskSpent(session=spent)) for task in tasks]

    async def do(self, call_id: str, tasks: Sequence[Progress], sink: Sink) -> None:
        """Run tasks concurrently; the result of each is in its progress.

        A model error or a task that is cancelled on its own does not affect the others.
        """
        async with anyio.create_task_group() as group:
            for progress in tasks:
                group.start_soon(self._do_one, call_id, progress, sink)

    async def _do_one(self, call_id: str, progress: Progress, sink: Sink) -> None:
        # Entered before the semaphore, so that a waiting task can be cancelled, too.
        running = self._premises.session.tasks.running(call_id, progress.task.number)
        with running as scope:
            # Limits concurrent sub-agents of the session; the others wait here.
            async with self._desks:
                await self._work(call_id, progress, sink)
        if scope.cancelled_caught:
            progress.state = "cancelled"

    async def _work(self, call_id: str, progress: Progress, sink: Sink) -> None:
        task, session = progress.task, self._premises.session
        prefix = f"{call_id}.{task.number}."
        calls = CallScreen(sink, call_id, progress)
        gate = TaskGate(self._premises.gate, call_id, name_of(task.number, task.goal))
        tools = self._premises.make_tools(gate, task.tools)
        toolbox = TaskToolbox(tools.toolbox, calls, prefix)
        transcript = Transcript(session.chronicle.journal, call_id, task.number)
        try:
            kit = replace(await self._kit(progress, toolbox), tidings=tools.tidings)
            worker = Worker(progress, Conversation((), transcript), kit, TaskScreen(calls, prefix))
            await worker.run(session.mode)
        except anyio.get_cancelled_exc_class():
            self._premises.tasks.start_soon(toolbox.close)  # closing takes too long to wait
            raise
        await toolbox.close()

    async def _kit(self, progress: Progress, toolbox: Toolbox) -> Kit:
        """Return the turn context of a sub-agent."""
        session, budget = self._premises.session, self._rules.budget
        model_id, tools = session.model_id, frozenset(spec.name for spec in toolbox.specs)
        write = partial(self._prompt, model_id, tools)
        system = await write()
        compactor = Compactor(progress.spent, write, self._rules.compaction_threshold)
        upkeep = SessionUpkeep(compactor, self._premises.briefing, new_id)
        kit = session.kit_for(model_id, toolbox, system)
        return replace(
            kit,
            max_requests=budget.max_requests,
            upkeep=TaskUpkeep(upkeep, budget, progress.spent),
        )

    async def _prompt(self, model_id: str, tools: frozenset[str]) -> str:
        """Return the system prompt of sub-agents, cached per model and tools."""
        # Concurrent tasks with the same tools build the prompt once.
        async with self._writing:
            if (model_id, tools) not in self._prompts:
                subject = Subject(model_id, None, tools)
                text = await self._premises.briefing.write(subject)
                self._prompts[model_id, tools] = text
            return self._prompts[model_id, tools]
