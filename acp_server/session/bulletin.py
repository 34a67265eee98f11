"""Sentences for the user that belong to no turn."""

from collections.abc import Callable, Sequence, Sized

SWITCHED = (
    "{model} answers from here on: what the model before had thought, and the provider's cache of "
    "this conversation, are lost"
)


def _not_shown(sentence: str) -> bool:
    del sentence
    return False


class Bulletin:
    """Shows sentences at once where the client can, else with the next turn."""

    def __init__(self, conversation: Sized = ()) -> None:
        """Begin; `conversation` is what was said in the session."""
        self._conversation = conversation
        self._show: Callable[[str], bool] = _not_shown
        self._unsaid: list[str] = []

    def listen(self, show: Callable[[str], bool]) -> None:
        """Have sentences shown between turns; `show` returns whether it did."""
        self._show = show

    def say(self, sentence: str) -> None:
        """Tell the user, now or later."""
        if not self._show(sentence):
            self._unsaid.append(sentence)

    def take(self) -> Sequence[str]:
        """Return what was not said yet; it counts as said then."""
        unsaid, self._unsaid = self._unsaid, []
        return unsaid

    def say_switched(self, model_id: str) -> None:
        """Tell the user what is lost with another model, if anything was said before."""
        if len(self._conversation):
            self.say(SWITCHED.format(model=model_id))
