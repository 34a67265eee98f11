"""Which recorded answer a request gets, and how its differences are described."""

from pydantic import JsonValue

from acp_server.models.recordings.exchange import Exchange
from acp_server.models.recordings.matching import ExchangeFinder, Match
from acp_server.text.json_values import Object

PATH = "/v1/messages"
SYSTEM = "You are brief."


def user(text: str) -> Object:
    return {"role": "user", "content": text}


def tool_turn(number: int, result: str, call_id: str = "") -> list[JsonValue]:
    call_id = call_id or f"toolu_{number}"
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "look"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call_id, "content": result}],
        },
    ]


def body(*messages: JsonValue, system: str = SYSTEM, **more: JsonValue) -> Object:
    tools: list[JsonValue] = [{"name": "look", "description": "Looks."}]
    return {"model": "m", "system": system, "tools": tools, "messages": [*messages], **more}


def record(*bodies: Object) -> ExchangeFinder:
    return ExchangeFinder(
        [
            Exchange("POST", PATH, each, 200, "text/event-stream", name=str(number))
            for number, each in enumerate(bodies)
        ]
    )


def find(finder: ExchangeFinder, asked: Object) -> Match:
    found = finder.find("POST", PATH, asked)
    assert found is not None
    return found


def conversation(length: int, first: str = "Begin") -> list[JsonValue]:
    turns = [each for number in range(length) for each in tool_turn(number, f"r{number}")]
    return [user(first), *turns]


def test_the_same_request_is_found_whatever_its_ids_and_cache_marks_are() -> None:
    finder = record(body(user("a")), body(user("b"), *tool_turn(1, "x", "toolu_recorded")))
    marked: Object = {**user("b"), "cache_control": {"type": "ephemeral"}}
    found = find(finder, body(marked, *tool_turn(1, "x", "toolu_now")))
    assert (found.exchange.name, found.differences) == ("1", ())


def test_equal_requests_get_the_answers_in_order_and_then_the_first_again() -> None:
    finder = record(*[body(user("again"))] * 3)
    names = [find(finder, body(user("again"))).exchange.name for _ in range(4)]
    assert names == ["0", "1", "2", "0"]


def test_the_longest_common_beginning_is_nearest() -> None:
    finder = record(*(body(*conversation(length)) for length in range(4)))
    changed = [*conversation(2)[:-1], *tool_turn(9, "another")[1:]]
    found = find(finder, body(*changed))
    assert found.exchange.name == "2"
    (difference,) = found.differences
    assert difference.startswith("message 5 (user):")


def test_after_a_changed_first_message_the_place_in_the_conversation_decides() -> None:
    finder = record(*(body(*conversation(length)) for length in range(4)))
    names = [
        find(finder, body(*conversation(length, "Start"))).exchange.name for length in range(4)
    ]
    assert names == ["0", "1", "2", "3"]


def test_a_longer_conversation_than_recorded_gets_the_last_answer() -> None:
    finder = record(*(body(*conversation(length)) for length in range(3)))
    assert find(finder, body(*conversation(6))).exchange.name == "2"


def test_differences_name_system_prompt_tools_messages_and_settings() -> None:
    finder = record(body(user("a\nb\nc")))
    asked = body(user("a\nB\nc"), system="You are kind.", max_tokens=5)
    asked["tools"] = [{"name": "look", "description": "Finds."}, {"name": "new"}]
    assert find(finder, asked).differences == (
        "the system prompt: You are kind. in place of You are brief.",
        "the tool look:\n  -description: Looks.\n  +description: Finds.",
        "the tool new is new",
        "message 1 (user):\n  -b\n  +B",
        "max_tokens: 5 in place of null",
    )


def test_a_request_of_another_kind_has_no_answer() -> None:
    assert record(body(user("a"))).find("GET", "/v1/models", {}) is None


def test_answers_that_were_not_used_are_known() -> None:
    finder = record(body(user("a")), body(user("b")))
    find(finder, body(user("b")))
    assert [each.name for each in finder.unused()] == ["0"]
