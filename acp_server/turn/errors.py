"""Errors that end a turn early.

TurnError                    the turn could not be finished; the text is for the user
  CredentialsMissingError    no API key, token or login is configured
  PromptTooLargeError        the prompt does not fit the model's context window
  ModelUnavailableError      no model is configured, or it cannot be set up
  RepeatedCallError          the model repeats itself, and the user was not there to decide
  CostLimitError             the session's cost limit is reached, and nobody could be asked
  ModelFailedError           the request to the model failed; `kind` classifies the failure
    ModelInterruptedError    the stream broke after part of the response had arrived
    ContextOverflowError     the request does not fit the context window
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


DEFAULT_CONTINUATIONS = 5
"""How often in one turn a broken answer is continued, unless the endpoint's settings say less."""


class TurnError(Exception):
    """The turn could not be finished. `reason` tells the user why, and how to fix it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CredentialsMissingError(TurnError):
    """No API key, token or login is configured for the provider."""


class PromptTooLargeError(TurnError):
    """The prompt does not fit the context window; it was not stored."""

    def __init__(self, estimated_tokens: int, window_tokens: int) -> None:
        super().__init__(
            f"the prompt is too large: about {estimated_tokens:,} tokens, and the context window "
            f"holds {window_tokens:,}; shorten it, or name the file and let the agent read it"
        )
        self.estimated_tokens = estimated_tokens
        self.window_tokens = window_tokens


class ModelUnavailableError(TurnError):
    """No model is configured, or the configured one cannot be set up."""


class RepeatedCallError(TurnError):
    """The model made the same call with the same result too often, and nobody could be asked."""


class CostLimitError(TurnError):
    """The cost limit of the session is reached, and nobody could be asked."""


class ModelFailedError(TurnError):
    """The request to the model failed; the output streamed until then is kept."""

    def __init__(
        self,
        reason: str,
        kind: FailureKind = "other",
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind: FailureKind = kind
        self.retry_after_seconds = retry_after_seconds
        """How long the provider asks to wait, if it does."""


class ModelInterruptedError(ModelFailedError):
    """The stream broke midway. The model can be asked to continue.

    `max_continuations` is how often in one turn, by the endpoint's retry settings.
    """

    def __init__(
        self,
        reason: str,
        kind: FailureKind = "other",
        max_continuations: int = DEFAULT_CONTINUATIONS,
    ) -> None:
        super().__init__(reason, kind)
        self.max_continuations = max_continuations


class ContextOverflowError(ModelFailedError):
    """The request does not fit the model's context window; a shorter one may.

    Attributes:
        limit_tokens: The limit that the endpoint names, usually the context window; None if it
            names none.
        request_tokens: The size of the prompt as the endpoint counted it, without the room for the
            answer if the endpoint tells them apart; None if it names none.
    """

    def __init__(
        self, reason: str, limit_tokens: int | None = None, request_tokens: int | None = None
    ) -> None:
        super().__init__(reason, "request")
        self.limit_tokens = limit_tokens
        self.request_tokens = request_tokens
