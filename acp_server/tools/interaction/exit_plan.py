"""The tool `exit_plan`: offers a finished plan to the user; accepting it ends plan mode.

Security: the permission gate asks and the gate switches the mode. No output of the model can.
"""

from functools import partial

from pydantic import Field

from acp_server.permissions.effects import LeavePlanMode
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import Question
from acp_server.session.ports.user_questions import Enquirer
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import Outcome

NAME = "exit_plan"
DESCRIPTION = (
    "In plan mode: offer the finished plan to the user, who accepts it or wants it changed. plan: "
    "Markdown; what changes where, in which order, how it is verified."
)
TITLE = "Carry out this plan?"
KIND: CallKind = "switch_mode"
NOBODY = "nobody can accept a plan here: end your turn with the plan as your answer"
ACCEPTED = "the user has accepted the plan and plan mode is off: carry it out now"


class PlanArguments(Arguments):
    """The plan, as Markdown."""

    plan: str = Field(min_length=1)


class PlanUse(Use[PlanArguments]):
    """One call of `exit_plan`."""

    def __init__(self, gate: Gate, enquirer: Enquirer, report: Report) -> None:
        super().__init__(PlanArguments, report)
        self._gate = gate
        self._enquirer = enquirer

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the title once the first part of the plan was received."""
        return Description(TITLE) if so_far.text("plan") else None

    async def run(self, arguments: PlanArguments) -> Outcome:
        """Show the plan and ask the user to accept it."""
        plan = (Text(arguments.plan),)
        await self.report.show(plan)
        if not self._enquirer.is_attended:
            return Outcome(NOBODY, is_error=True, shown=(*plan, Text(NOBODY)))
        question = Question(self.report.call_id, LeavePlanMode(), TITLE, KIND, plan)
        refusal = await self._gate.pass_through(question)
        if refusal is not None:
            shown = (*plan, Text(refusal.reason))
            return Outcome(refusal.reason, is_error=True, shown=shown)
        return Outcome(ACCEPTED, shown=plan)


def exit_plan_tool(gate: Gate, enquirer: Enquirer) -> Tool:
    """Return the tool for a session."""
    spec = spec_of(NAME, DESCRIPTION, PlanArguments)
    return Tool(spec, KIND, "Plan", partial(PlanUse, gate, enquirer))
