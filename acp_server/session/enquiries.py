"""What the model asks the user in the middle of its work: the port, and nobody to be asked.

Owns the shape of a question with choices. Permissions are none of these: the gate asks for them.
"""

from typing import NoReturn, Protocol

from acp_server.frozen import frozen


class EnquiryError(Exception):
    """The question did not reach the user, or what came back is no answer."""


@frozen
class Enquiry:
    """A question of a call's, and the answers that are proposed; any other may be given."""

    call_id: str
    question: str
    choices: tuple[str, ...] = ()


class Enquirer(Protocol):
    """Asks the user of one session."""

    @property
    def is_attended(self) -> bool:
        """Whether there is anybody who could answer, be it with the next prompt."""
        ...

    @property
    def has_forms(self) -> bool:
        """Whether `ask` can be used."""
        ...

    async def ask(self, enquiry: Enquiry) -> str | None:
        """Return what the user answers; None if they turn away from the question.

        Cancelling takes the question back, and what is answered later is dropped.

        Raises:
            EnquiryError: it cannot be asked.
        """
        ...


class NoEnquirer:
    """Nobody is there: a run without an editor."""

    is_attended = False
    has_forms = False

    async def ask(self, enquiry: Enquiry) -> NoReturn:
        """Refuse."""
        raise EnquiryError(enquiry.question)
