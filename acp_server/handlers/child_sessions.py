"""Shows sub-agents to clients that tell them apart from the agent.

A client that declares the draft capability `subagents` sees each sub-agent as a child session with
an id of its own, which its texts, plans, calls and permission requests carry. A client that
declares `_meta.subagent-transcript`, a convention of other agents, gets the texts in the session,
each with the delegating call's id. All others see the calls alone: they would take the texts for
the agent's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from acp_server.jsonrpc.errors import INTERNAL_ERROR
from acp_server.protocol.content import TextContent
from acp_server.protocol.updates import (
    ChildCancelCapabilities,
    ChildCapabilities,
    ChildError,
    ChildState,
    DraftUpdate,
    SessionMessage,
    SubAgentUpdate,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.events import (
    SubAgentEnded,
    SubAgentStarted,
    sub_agent_call_prefix,
)

STOP_REASONS = {
    "done": "end_turn",
    "stopped": "max_turn_requests",
    "failed": "error",
    "cancelled": "cancelled",
}
"""The stop reason of a child session, by the way in which its task ended."""


def child_session_id(session_id: str, parent_id: str, number: int) -> str:
    """Return the id of a sub-agent's child session: the same whenever the session is loaded."""
    return f"{session_id}.{parent_id}.{number}"


@frozen_dataclass
class ChildSession:
    """A sub-agent that runs: its session, the delegating call, and the task's number."""

    session_id: str
    call_id: str
    number: int


@dataclass(slots=True)
class ChildSessions:
    """The child sessions of one connection that run, by their ids."""

    _running: dict[str, ChildSession] = field(default_factory=dict[str, ChildSession])

    def find(self, child_id: str) -> ChildSession | None:
        """Return the sub-agent that runs as this child session."""
        return self._running.get(child_id)

    def owner_of(self, session_id: str, call_id: str) -> str:
        """Return the id of the session that shows a running call: a child session, or its own."""
        for child_id, child in self._running.items():
            prefix = sub_agent_call_prefix(child.call_id, child.number)
            if child.session_id == session_id and call_id.startswith(prefix):
                return child_id
        return session_id

    def announce(
        self, session_id: str, event: SubAgentStarted
    ) -> Iterator[tuple[str, DraftUpdate]]:
        """Yield the updates that announce a child session, each with its session id."""
        child_id = child_session_id(session_id, event.parent_id, event.number)
        self._running[child_id] = ChildSession(session_id, event.parent_id, event.number)
        cancel = ChildCapabilities(cancel=ChildCancelCapabilities())
        yield session_id, SubAgentUpdate(session_id=child_id, title=event.name, capabilities=cancel)
        yield (
            child_id,
            SessionMessage(
                message_id=f"{child_id}.prompt",
                sender_session_id=session_id,
                recipient_session_id=child_id,
                content=(TextContent(text=event.prompt),),
            ),
        )
        yield session_id, SubAgentUpdate(session_id=child_id, state=ChildState(state="running"))

    def end(self, session_id: str, event: SubAgentEnded) -> Iterator[tuple[str, DraftUpdate]]:
        """Yield the update that ends a child session's work."""
        child_id = child_session_id(session_id, event.parent_id, event.number)
        self._running.pop(child_id, None)
        failure = ChildError(code=INTERNAL_ERROR, message=event.reason or "the sub-agent failed")
        state = ChildState(
            state="idle",
            stop_reason=STOP_REASONS[event.state],
            error=failure if event.state == "failed" else None,
        )
        yield session_id, SubAgentUpdate(session_id=child_id, state=state)
