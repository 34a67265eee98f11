"""What can end a turn early.

TurnError               a turn that could not be finished; the text is for the user
  ModelUnavailableError no model is configured, or no credentials for it
  ModelFailedError      the model was asked and failed
"""


class TurnError(Exception):
    """A turn that could not be finished. `reason` says why and what to do, for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ModelUnavailableError(TurnError):
    """There is no model to ask: none configured, or nothing to sign in with."""


class ModelFailedError(TurnError):
    """The model was asked and failed; what was streamed until then stands."""
