"""The simulated user of a journey: answers permission questions and forms, by a policy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from pydantic import JsonValue

from tests.support.editor import Object, json_at

FormAnswer: TypeAlias = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that the server asked, and the answer it got."""

    kind: Literal["permission", "form"]
    session_id: str
    text: str
    """Title of the call, or message of the form."""
    choices: tuple[str, ...] = ()
    """Ids of the options, or names of the form's fields."""
    schema: Object = field(default_factory=dict[str, JsonValue])
    """Fields of the form, by name."""
    request: Object = field(default_factory=dict[str, JsonValue])
    """The params of the request."""
    answer: str | FormAnswer | None = None


AnswerPolicy: TypeAlias = Callable[[AskedQuestion], str | FormAnswer | None]
"""Returns the id of an option, the content of a form, None to dismiss the question, or `WAIT`."""
WAIT = "wait"
"""Leaves a question open: its turn waits until the server ends."""


def allow_once(question: AskedQuestion) -> str | FormAnswer | None:
    """Allow every effect once, agree to every form and take its first choices."""
    if question.kind == "permission":
        return "allow_once"
    return {name: _default_value(field_) for name, field_ in question.schema.items()}


def _default_value(schema: JsonValue) -> JsonValue:
    assert isinstance(schema, dict)
    if schema.get("type") == "boolean":
        return True
    return json_at(schema, "oneOf", 0, "const") if "oneOf" in schema else ""


@dataclass(slots=True)
class User:
    """Answers the questions of all sessions, and remembers them in order."""

    policy: AnswerPolicy = allow_once
    questions: list[AskedQuestion] = field(default_factory=list[AskedQuestion])

    def has_left(self) -> bool:
        """Return whether the last question was left open."""
        return bool(self.questions) and self.questions[-1].answer == WAIT

    def respond(self, request: Object) -> JsonValue:
        """Return the result of a request from the server, or None to leave it open."""
        params = cast("Object", request["params"])
        match request["method"]:
            case "session/request_permission":
                options = cast("list[Object]", params["options"])
                asked = AskedQuestion(
                    "permission",
                    str(params["sessionId"]),
                    str(json_at(params, "toolCall", "title")),
                    tuple(str(option["optionId"]) for option in options),
                    request=params,
                )
                outcome = self._choose(asked)
                return None if self.has_left() else {"outcome": outcome}
            case "elicitation/create":
                fields = cast("Object", json_at(params, "requestedSchema", "properties"))
                asked = AskedQuestion(
                    "form", str(params["sessionId"]), str(params["message"]), tuple(fields), fields
                )
                content = self._answer(asked)
                if self.has_left():
                    return None
                return {"action": "accept", "content": content} if content else {"action": "cancel"}
            case method:
                raise AssertionError(f"the client offers no {method}")

    def _choose(self, asked: AskedQuestion) -> JsonValue:
        chosen = self._answer(asked)
        if chosen in {None, WAIT}:
            return {"outcome": "cancelled"}
        assert chosen in asked.choices, f"{chosen} is not offered: {asked}"
        return {"outcome": "selected", "optionId": chosen}

    def _answer(self, asked: AskedQuestion) -> JsonValue:
        answer = self.policy(asked)
        self.questions.append(
            AskedQuestion(
                asked.kind,
                asked.session_id,
                asked.text,
                asked.choices,
                asked.schema,
                asked.request,
                answer,
            )
        )
        return dict(answer) if isinstance(answer, Mapping) else answer
