"""The tool `exit_plan`: offers a finished plan to the user; accepting it ends plan mode.

Security: the permission gate asks and the gate switches the mode. No output of the model can.
"""

from functools import partial

from pydantic import Field

from acp_server.permissions.effects import LeavePlanMode
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.ports.user_questions import UserAsker
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import ToolOutcome

NAME = "exit_plan"
DESCRIPTION = (
    "In plan mode, show the finished plan to the user, who accepts it or asks for changes."
)
TITLE = "Carry out this plan?"
KIND: CallKind = "switch_mode"
UNATTENDED = "nobody can accept a plan here: end your turn with the plan as your answer"
ACCEPTED = "the user has accepted the plan and plan mode is off: carry it out now"


class ExitPlanArguments(Arguments):
    """The plan, as Markdown."""

    plan: str = Field(
        min_length=1,
        description="Markdown: what changes where, in which order, and how you check it",
    )


class ExitPlanUse(TypedToolUse[ExitPlanArguments]):
    """One call of `exit_plan`."""

    def __init__(self, gate: Gate, user_asker: UserAsker, reporter: CallReporter) -> None:
        super().__init__(ExitPlanArguments, reporter)
        self._gate = gate
        self._user_asker = user_asker

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the title once the first part of the plan was received."""
        return CallDescription(TITLE) if so_far.text("plan") else None

    async def run(self, arguments: ExitPlanArguments) -> ToolOutcome:
        """Show the plan and ask the user to accept it."""
        plan = (Text(arguments.plan),)
        await self.reporter.show(plan)
        if not self._user_asker.is_attended:
            return ToolOutcome(UNATTENDED, is_error=True, shown=(*plan, Text(UNATTENDED)))
        question = PermissionQuestion(self.reporter.call_id, LeavePlanMode(), TITLE, KIND, plan)
        refusal = await self._gate.authorize(question)
        if refusal is not None:
            shown = (*plan, Text(refusal.reason))
            return ToolOutcome(refusal.reason, is_error=True, shown=shown)
        return ToolOutcome(ACCEPTED, shown=plan)


def exit_plan_tool(gate: Gate, user_asker: UserAsker) -> Tool:
    """Return the tool for a session."""
    spec = build_spec(NAME, DESCRIPTION, ExitPlanArguments)
    return Tool(spec, KIND, "Plan", partial(ExitPlanUse, gate, user_asker))
