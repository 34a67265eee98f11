"""The tool `clarify`: asks the user a question, in a form if the editor supports forms.

Otherwise the question is posted in the chat and ends the turn: the next prompt answers it.
"""

from functools import partial

from pydantic import Field

from acp_server.session.ids import new_id
from acp_server.session.ports.user_questions import Enquirer, Enquiry, EnquiryError
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import Outcome

NAME = "clarify"
DESCRIPTION = (
    "Ask the user what only they can decide and a wrong guess would cost; never for leave to act. "
    "choices: likely answers, the best first; they may answer in their own words."
)
MOST_CHOICES = 6
MOST_CHOICE_CHARACTERS = 200
MOST_ANSWER_CHARACTERS = 10_000

NOBODY = "nobody can be asked here: decide yourself, and say in the end what you assumed"
TURNED_AWAY = "the user did not answer; do not ask again, go on as seems best or end your turn"
ASKED = "the question is in the chat and your turn ends; the user's next message answers it"


class ClarifyArguments(Arguments):
    """A question and the suggested answers."""

    question: str = Field(min_length=1, max_length=4_000)
    choices: list[str] = Field(default=[], max_length=MOST_CHOICES)


class ClarifyUse(Use[ClarifyArguments]):
    """One call of `clarify`."""

    def __init__(self, enquirer: Enquirer, report: Report) -> None:
        super().__init__(ClarifyArguments, report)
        self._enquirer = enquirer

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the question as far as it was received, as the title."""
        question = so_far.text("question")
        return Description(question) if question else None

    async def run(self, arguments: ClarifyArguments) -> Outcome:
        """Ask the user in a form, or in the chat if there are no forms or the form fails."""
        enquiry = Enquiry(
            self.report.call_id, arguments.question.strip(), _choices(arguments.choices)
        )
        shown = Text(_in_chat(enquiry))
        await self.report.show((shown,))
        if not self._enquirer.is_attended:
            return Outcome(NOBODY, shown=(shown, Text(NOBODY)))
        await self.report.begin()
        if self._enquirer.has_forms:
            try:
                return _answered(await self._enquirer.ask(enquiry), shown)
            except EnquiryError:  # the form could not be shown: fall back to the chat
                pass
        await self.report.tell(MessageChunk(new_id(), f"{shown.text}\n"))
        return Outcome(ASKED, shown=(shown,), ends_turn=True)


def _choices(given: list[str]) -> tuple[str, ...]:
    """Return the choices without duplicates, each on one line."""
    lines = (" ".join(choice.split())[:MOST_CHOICE_CHARACTERS] for choice in given)
    return tuple(dict.fromkeys(line for line in lines if line))


def _in_chat(enquiry: Enquiry) -> str:
    """Return the question as Markdown for the chat."""
    choices = [f"{number}. {choice}" for number, choice in enumerate(enquiry.choices, 1)]
    return "\n\n".join(part for part in (enquiry.question, "\n".join(choices)) if part)


def _answered(answer: str | None, question: Text) -> Outcome:
    if answer is None:
        return Outcome(TURNED_AWAY, shown=(question, Text("No answer.")))
    answer = answer[:MOST_ANSWER_CHARACTERS]
    return Outcome(f"the user answers: {answer}", shown=(question, Text(f"**{answer}**")))


def clarify_tool(enquirer: Enquirer) -> Tool:
    """Return the tool for a session."""
    spec = spec_of(NAME, DESCRIPTION, ClarifyArguments)
    return Tool(spec, "other", "Ask a question", partial(ClarifyUse, enquirer))
