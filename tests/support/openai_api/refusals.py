"""Error responses in OpenAI's format."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from tests.support.messages_api.failures import HttpFailure

Object = dict[str, JsonValue]


@dataclass(frozen=True)
class OpenAiRefusal(Exception):  # noqa: N818  what the API does, not what goes wrong here
    """Raised to answer a request with an error."""

    message: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str | None = None

    def __str__(self) -> str:
        return self.message

    @property
    def failure(self) -> HttpFailure:
        """The error as a scripted failure."""
        error: JsonValue = {
            "message": self.message,
            "type": self.type,
            "param": None,
            "code": self.code,
        }
        return HttpFailure(self.status, json.dumps({"error": error}).encode(), message=self.message)
