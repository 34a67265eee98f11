"""User notices that belong to no turn."""

from collections.abc import Sequence, Sized

from acp_server.session.ports.observer import NullObserver, SessionObserver

MODEL_SWITCHED = (
    "{model} answers from now on. The previous model's reasoning and the provider's cache of this "
    "conversation are dropped"
)


class UserNotices:
    """Notices for the user: shown immediately if the client can, otherwise with the next turn."""

    def __init__(self, conversation: Sized = (), observer: SessionObserver | None = None) -> None:
        """Start without notices; `conversation` is the session's conversation."""
        self._conversation = conversation
        self._observer = observer or NullObserver()
        self._queued: list[str] = []

    def add(self, notice: str) -> None:
        """Show a notice now, or queue it for the next turn."""
        if not self._observer.show_notice(notice):
            self._queued.append(notice)

    def take(self) -> Sequence[str]:
        """Return the queued notices and empty the queue."""
        notices, self._queued = self._queued, []
        return notices

    def add_model_switch(self, model_id: str) -> None:
        """Warn about the lost cache when the model changes in a conversation that has begun."""
        if len(self._conversation):
            self.add(MODEL_SWITCHED.format(model=model_id))
