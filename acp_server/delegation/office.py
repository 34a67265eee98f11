"""Where a session's tasks are done: so many at once, each by an agent of its own.

An agent has the session's model, files, gate and hints; its conversation, its budget, its shell and
its tools are its own. It knows nothing but its goal and its context.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import anyio
from anyio.abc import TaskGroup

from acp_server.delegation.gate import TaskGate, name_of
from acp_server.delegation.showing import CallScreen, TaskScreen
from acp_server.delegation.task import Progress, Rules, Task, TaskSpent
from acp_server.delegation.toolbox import TaskToolbox
from acp_server.delegation.transcript import Transcript
from acp_server.delegation.upkeep import TaskUpkeep
from acp_server.delegation.work import Worker
from acp_server.frozen import frozen
from acp_server.permissions.gate import Gate
from acp_server.session.briefing import Briefing, Subject
from acp_server.session.compaction import Compactor
from acp_server.session.identifiers import new_id
from acp_server.session.session import Session
from acp_server.session.tidings import Source
from acp_server.session.upkeep import SessionUpkeep
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Kit
from acp_server.turn.ports import Sink, Toolbox


@frozen
class Tools:
    """The tools of one task, and what they have to tell that no call asked for."""

    toolbox: Toolbox
    tidings: Source


MakeTools = Callable[[Gate, frozenset[str]], Tools]
"""Makes some of the session's tools anew, behind a gate, with a shell of their own."""


@frozen
class Premises:
    """What the tasks of a session work with."""

    session: Session
    gate: Gate
    briefing: Briefing
    """Writes the system prompt of agents, which is another than the session's."""
    make_tools: MakeTools
    tasks: TaskGroup
    """Where ends what a cancelled task left running."""


class Office:
    """Does the tasks of one session."""

    def __init__(self, premises: Premises, rules: Rules) -> None:
        self._premises = premises
        self._rules = rules
        self._desks = anyio.Semaphore(rules.max_parallel)
        self._prompts: dict[tuple[str, frozenset[str]], str] = {}
        self._writing = anyio.Lock()

    def begin(self, tasks: Sequence[Task]) -> Sequence[Progress]:
        """Return what is known of tasks that nobody does yet."""
        spent = self._premises.session.spent
        return [Progress(task, TaskSpent(session=spent)) for task in tasks]

    async def do(self, call_id: str, tasks: Sequence[Progress], sink: Sink) -> None:
        """Do tasks at the same time; what comes of each stands in its progress.

        A model that fails or a task that is cancelled alone is one task's matter.
        """
        async with anyio.create_task_group() as group:
            for progress in tasks:
                group.start_soon(self._do_one, call_id, progress, sink)

    async def _do_one(self, call_id: str, progress: Progress, sink: Sink) -> None:
        running = self._premises.session.tasks.running(call_id, progress.task.number)
        with running as scope:
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
            self._premises.tasks.start_soon(toolbox.close)  # that may take longer than one waits
            raise
        await toolbox.close()

    async def _kit(self, progress: Progress, toolbox: Toolbox) -> Kit:
        """Return what an agent works with."""
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
        """Return the system prompt of agents: the same for all that have these tools."""
        async with self._writing:
            if (model_id, tools) not in self._prompts:
                subject = Subject(model_id, None, tools)
                text = await self._premises.briefing.write(subject)
                self._prompts[model_id, tools] = text
            return self._prompts[model_id, tools]
