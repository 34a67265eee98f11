"""The tool `clarify`: asks the user a question, in a form if the editor supports forms.

Otherwise the question is posted in the chat and ends the turn: the next prompt answers it.
"""

from functools import partial

from pydantic import Field

from acp_server.session.ids import new_id
from acp_server.session.ports.user_questions import UserAsker, UserQuestion, UserQuestionError
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.conversation import Text
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import ToolOutcome

NAME = "clarify"
DESCRIPTION = (
    "Ask the user, if only they can decide and a wrong guess would be costly. Do not ask "
    "permission for ordinary steps."
)
MAX_CHOICES = 6
MAX_CHOICE_CHARACTERS = 200
MAX_ANSWER_CHARACTERS = 10_000

UNATTENDED = "nobody can be asked here: decide yourself, and say in the end what you assumed"
NOT_ANSWERED = "the user did not answer; do not ask again, go on as seems best or end your turn"
ASKED_IN_CHAT = "the question is in the chat and your turn ends; the user's next message answers it"


class ClarifyArguments(Arguments):
    """A question and the suggested answers."""

    question: str = Field(min_length=1, max_length=4_000, description="one question")
    choices: list[str] = Field(
        default=[],
        max_length=MAX_CHOICES,
        description="up to 6 likely answers, the best first; the user may give another",
    )


class ClarifyUse(TypedToolUse[ClarifyArguments]):
    """One call of `clarify`."""

    def __init__(self, user_asker: UserAsker, reporter: CallReporter) -> None:
        super().__init__(ClarifyArguments, reporter)
        self._user_asker = user_asker

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the question as far as it was received, as the title."""
        question = so_far.text("question")
        return CallDescription(question) if question else None

    async def run(self, arguments: ClarifyArguments) -> ToolOutcome:
        """Ask the user in a form, or in the chat if there are no forms or the form fails."""
        # Each choice is on one line, and none is there twice.
        lines = (" ".join(choice.split())[:MAX_CHOICE_CHARACTERS] for choice in arguments.choices)
        choices = tuple(dict.fromkeys(filter(None, lines)))
        user_question = UserQuestion(self.reporter.call_id, arguments.question.strip(), choices)
        numbered = "\n".join(f"{number}. {choice}" for number, choice in enumerate(choices, 1))
        shown = Text("\n\n".join(filter(None, (user_question.question, numbered))))
        await self.reporter.show((shown,))
        if not self._user_asker.is_attended:
            return ToolOutcome(UNATTENDED, shown=(shown, Text(UNATTENDED)))
        await self.reporter.mark_in_progress()
        if self._user_asker.has_forms:
            try:
                answer = await self._user_asker.ask(user_question)
            except UserQuestionError:  # the form could not be shown: fall back to the chat
                pass
            else:
                if answer is None:
                    return ToolOutcome(NOT_ANSWERED, shown=(shown, Text("No answer.")))
                answer = answer[:MAX_ANSWER_CHARACTERS]
                text = f"the user answers: {answer}"
                return ToolOutcome(text, shown=(shown, Text(f"**{answer}**")))
        await self.reporter.emit(MessageChunk(new_id(), f"{shown.text}\n"))
        return ToolOutcome(ASKED_IN_CHAT, shown=(shown,), ends_turn=True)


def clarify_tool(user_asker: UserAsker) -> Tool:
    """Return the tool for a session."""
    spec = build_spec(NAME, DESCRIPTION, ClarifyArguments)
    return Tool(spec, "other", "Ask a question", partial(ClarifyUse, user_asker))
