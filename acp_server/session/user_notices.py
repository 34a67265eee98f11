"""User notices that belong to no turn."""

from collections.abc import Callable, Sequence, Sized

MODEL_SWITCHED = (
    "{model} answers from now on. The previous model's reasoning and the provider's cache of this "
    "conversation are dropped"
)


def _never_shown(sentence: str) -> bool:
    del sentence
    return False


class UserNotices:
    """Notices for the user: shown immediately if the client can, otherwise with the next turn."""

    def __init__(self, conversation: Sized = ()) -> None:
        """Start without notices; `conversation` is the session's conversation."""
        self._conversation = conversation
        self._show: Callable[[str], bool] = _never_shown
        self._queued: list[str] = []

    def on_notice(self, show: Callable[[str], bool]) -> None:
        """Register `show` for notices between turns; it returns whether the notice was shown."""
        self._show = show

    def add(self, sentence: str) -> None:
        """Show a notice now, or queue it for the next turn."""
        if not self._show(sentence):
            self._queued.append(sentence)

    def take(self) -> Sequence[str]:
        """Return the queued notices and empty the queue."""
        notices, self._queued = self._queued, []
        return notices

    def add_model_switch(self, model_id: str) -> None:
        """Warn about the lost cache when the model changes in a conversation that has begun."""
        if len(self._conversation):
            self.add(MODEL_SWITCHED.format(model=model_id))
