"""What can end a turn early.

TurnError                    a turn that could not be finished; the text is for the user
  CredentialsMissingError    there is nothing to sign in with
  PromptTooLargeError        the prompt does not fit the model's window
  ModelUnavailableError      no model is configured, or it cannot be made ready
  ModelFailedError           the model was asked and failed; `kind` says how
    ModelInterruptedError    its stream broke after something of it had been received
"""

from typing import Literal

FailureKind = Literal[
    "authentication",
    "permission",
    "rate_limit",
    "overloaded",
    "connection",
    "request",
    "unknown",
    "other",
]


class TurnError(Exception):
    """A turn that could not be finished. `reason` says why and what to do, for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CredentialsMissingError(TurnError):
    """There is nothing to sign in with: no key, no token, no login."""


class PromptTooLargeError(TurnError):
    """The prompt does not fit the window; it was not stored."""

    def __init__(self, estimated_tokens: int, window_tokens: int) -> None:
        super().__init__(
            f"the prompt is too large: about {estimated_tokens:,} tokens, and the model's window "
            f"holds {window_tokens:,}; send less of it, or name the file for the agent to read"
        )
        self.estimated_tokens = estimated_tokens
        self.window_tokens = window_tokens


class ModelUnavailableError(TurnError):
    """There is no model to ask: none is configured, or it cannot be made ready."""


class ModelFailedError(TurnError):
    """The model was asked and failed; what was streamed until then stands."""

    def __init__(self, reason: str, kind: FailureKind = "other") -> None:
        super().__init__(reason)
        self.kind: FailureKind = kind


class ModelInterruptedError(ModelFailedError):
    """The stream broke half-way. Asking the model to go on may help."""
