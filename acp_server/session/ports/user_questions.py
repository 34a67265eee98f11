"""The user-question port: the model, or the engine itself, asks the user during a turn.

Permission requests are separate: the gate sends those.
"""

from typing import NoReturn, Protocol

from acp_server.startup.fast_dataclass import frozen_dataclass


class UserQuestionError(Exception):
    """The question did not reach the user, or the response is not an answer."""


@frozen_dataclass
class UserQuestion:
    """A question of a tool call, with proposed answers; free-text answers are allowed too."""

    call_id: str
    question: str
    choices: tuple[str, ...] = ()


class UserAsker(Protocol):
    """Asks the user of one session."""

    @property
    def is_attended(self) -> bool:
        """Whether a user is present who could answer, if only with the next prompt."""
        ...

    @property
    def has_forms(self) -> bool:
        """Whether `ask` can be used."""
        ...

    async def ask(self, question: UserQuestion) -> str | None:
        """Return the user's answer; None if they dismiss the question.

        Cancelling withdraws the question; a later answer is dropped.

        Raises:
            UserQuestionError: the question cannot be asked.
        """
        ...

    async def ask_to_continue(self, title: str, reason: str) -> bool | None:
        """Return whether the user wants a turn to go on; None if nobody can be asked.

        A user who dismisses the question wants the turn to stop.
        """
        ...


class NoUserAsker:
    """An asker without a user: a run without an editor."""

    is_attended = False
    has_forms = False

    async def ask(self, question: UserQuestion) -> NoReturn:
        """Raise UserQuestionError."""
        raise UserQuestionError(question.question)

    async def ask_to_continue(self, title: str, reason: str) -> None:
        """Return None."""
        del title, reason
