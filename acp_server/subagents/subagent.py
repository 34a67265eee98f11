"""Runs one task, from its goal to its summary."""

from collections.abc import Sequence

from acp_server.permissions.modes import Mode
from acp_server.session.prompting.compaction import Compactor
from acp_server.subagents.task import SubAgentTask, TaskBudgetError, TaskProgress, TaskState
from acp_server.turn.context import TurnContext
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    Text,
    UserMessage,
)
from acp_server.turn.errors import TurnError
from acp_server.turn.loop import NO_ANSWER, Turn
from acp_server.turn.ports import TurnSink

WRAP_UP = (
    "[Your budget for this task is used up; no tool can be called any more. Say in your last "
    "answer what you have found and done, and what is left to do.]"
)
PLANNING = "[Plan mode is on: read and search only; writing and running are refused.]"
REQUESTS_USED_UP = "its {most} model calls are used up"
REFUSED = "the model refused to do this"


class SubAgent:
    """Sub-agent for one task."""

    def __init__(
        self,
        progress: TaskProgress,
        conversation: Conversation,
        turn_context: TurnContext,
        compactor: Compactor,
        sink: TurnSink,
    ) -> None:
        self._progress = progress
        self._conversation = conversation
        self._context = turn_context
        self._compactor = compactor
        self._sink = sink

    async def run(self, mode: Mode) -> None:
        """Run the task; raises only cancellation."""
        progress = self._progress
        progress.state = "working"
        try:
            turn = Turn(self._conversation, self._context, self._sink, progress.totals)
            reason = await turn.run(self._prompt(mode))
            if reason == "max_turn_requests":
                await self._wrap_up(REQUESTS_USED_UP.format(most=self._context.max_requests))
            elif reason == "refusal":
                self._stop("failed", REFUSED)
            else:
                progress.state = "done"
                progress.summary = last_text(tuple(self._conversation))
        except TaskBudgetError as error:
            await self._wrap_up(error.reason)
        except TurnError as error:
            self._stop("failed", error.reason)

    def _prompt(self, mode: Mode) -> UserMessage:
        return UserMessage((Text(task_prompt(self._progress.task, mode)),))

    async def _wrap_up(self, reason: str) -> None:
        """Ask a stopped task for a summary: one more request, without tool calls."""
        self._stop("stopped", reason)
        try:
            answer = await self._compactor.ask(
                WRAP_UP, self._conversation, self._context, self._sink
            )
        except TurnError:
            return
        self._conversation.append(AssistantMessage((Text(answer),)))
        self._progress.summary = answer

    def _stop(self, state: TaskState, reason: str) -> None:
        self._progress.state = state
        self._progress.reason = reason
        summary = last_text(tuple(self._conversation))
        self._progress.summary = "" if summary == NO_ANSWER.format(reason=reason) else summary


def task_prompt(task: SubAgentTask, mode: Mode) -> str:
    """Return what a sub-agent is told of its task."""
    parts = [task.goal]
    if task.context.strip():
        parts.append(f"Context:\n{task.context}")
    if mode == "plan":
        parts.append(PLANNING)
    return "\n\n".join(parts)


def last_text(messages: Sequence[Message]) -> str:
    """Return the last text that an agent wrote."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            text = "\n".join(part.text for part in message.parts if isinstance(part, Text))
            if text.strip():
                return text.strip()
    return ""
