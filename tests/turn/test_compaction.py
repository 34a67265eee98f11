"""A conversation made shorter: what stays, what is removed, and that providers take it back."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from acp_server.turn.compaction import (
    MAX_OWN_WORDS_CHARACTERS,
    OWN_WORDS_HEADING,
    REMOVED_MEDIA,
    SUMMARY_HEADING,
    append_question,
    build_compacted_messages,
    build_summary_question,
    clear_old_results,
    cut_results,
    cut_texts,
    index_of_newest,
    index_of_tail,
)
from acp_server.turn.conversation import (
    AssistantMessage,
    Attachment,
    Media,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    parse_arguments,
)
from tests.support.user_texts import CHARACTERS_SHOWN
from tests.turn.turn_harness import history_errors

THOUGHT = Thinking("Hm.", "signature")
SUMMARY = Text(f"{SUMMARY_HEADING}\n\nSo far so good.")


def count(messages: Sequence[Message]) -> int:
    """Count characters as tokens."""
    return sum(len(repr(part)) for message in messages for part in message.parts)


def text_turn(number: int) -> list[Message]:
    """An exchange of two messages."""
    return [
        UserMessage((Text(f"question {number}"),)),
        AssistantMessage((THOUGHT, Text(f"answer {number}"))),
    ]


def call_turn(number: int, output: str = "out") -> list[Message]:
    """An exchange with a call: four messages."""
    call = ToolCall(f"c{number}", "read_file", f'{{"path": "{number}.py"}}')
    return [
        UserMessage((Text(f"task {number}"),)),
        AssistantMessage((THOUGHT, call)),
        UserMessage((ToolResult(call.id, output),)),
        AssistantMessage((Text(f"done {number}"),)),
    ]


def joined(*exchanges: list[Message]) -> list[Message]:
    """One conversation of these."""
    return [message for exchange in exchanges for message in exchange]


def result_text(message: Message) -> str:
    """Return the text of a message that holds one result."""
    [part] = message.parts
    assert isinstance(part, ToolResult)
    return part.text


# Old results are removed.


def test_the_oldest_results_become_one_line_that_says_what_they_were() -> None:
    messages = joined(*(call_turn(number, f"{'x' * 2_000}\n3 failed") for number in range(4)))
    cleared = clear_old_results(messages, len(messages), 3_000, count)
    assert result_text(cleared[2]) == (
        '[Removed to make room: 2,009 characters that read_file {"path": "0.py"} returned, ending '
        "with '3 failed'; make the call again if you need it]"
    )
    shortened = [len(result_text(cleared[index])) < 2_000 for index in (2, 6, 10, 14)]
    assert shortened == [True, True, False, False]
    others = [index for index in range(len(messages)) if index not in {2, 6}]
    assert [cleared[index] for index in others] == [messages[index] for index in others]


def test_of_a_batch_only_as_many_results_are_removed_as_must_be() -> None:
    calls = [ToolCall(f"c{number}", "read_file", "{}") for number in range(3)]
    results = [ToolResult(call.id, "x" * 2_000) for call in calls]
    messages = [AssistantMessage(tuple(calls)), UserMessage(tuple(results))]
    cleared = clear_old_results(messages, 2, 2_500, count)
    assert [part in results for part in cleared[1].parts] == [False, False, True]


def test_a_saved_output_is_named_in_place_of_a_new_call() -> None:
    messages = call_turn(1)
    messages[2] = UserMessage((ToolResult("c1", "x" * 2_000, saved_to="/home/out.txt"),))
    cleared = clear_old_results(messages, 3, 1, count)
    assert result_text(cleared[2]).endswith("; it is in /home/out.txt]")


def test_newest_and_short_results_are_not_removed() -> None:
    messages = joined(call_turn(1, "short"), call_turn(2, "x" * 2_000))
    assert clear_old_results(messages, 4, 10_000, count) == tuple(messages)


def test_nothing_is_removed_while_nothing_must_be_saved() -> None:
    messages = call_turn(1, "x" * 2_000)
    assert clear_old_results(messages, len(messages), 0, count) == tuple(messages)


def test_old_images_are_removed() -> None:
    image = Media("image/png", "AAAA" * 1_000)
    messages: list[Message] = [UserMessage((Text("see"), image)), *text_turn(1)[1:]]
    messages += call_turn(2)
    messages[4] = UserMessage((replace(ToolResult("c2", "an image"), media=(image,)),))
    cleared = clear_old_results(messages, len(messages), 10**6, count)
    assert cleared[0] == UserMessage((Text("see"), Text(REMOVED_MEDIA)))
    assert "Removed to make room" in result_text(cleared[4])
    assert not any(isinstance(part, ToolResult) and part.media for part in cleared[4].parts)


# Texts are cut.


def test_long_results_keep_head_and_tail() -> None:
    messages = call_turn(1, "head" + "x" * 10_000 + "tail")
    text = result_text(cut_results(messages, 1_000)[2])
    assert (text[:4], text[-4:], len(text) <= 1_000) == ("head", "tail", True)
    assert f"of 10,008 {CHARACTERS_SHOWN}" in text


def test_every_long_text_and_argument_is_cut_and_arguments_stay_valid() -> None:
    long = "word " * 2_000
    call = ToolCall("c1", "write_file", json.dumps({"path": "a", "content": long, "n": [long]}))
    broken = ToolCall("c2", "write_file", '{"content": "' + long)
    cut = cut_texts(
        [
            UserMessage((Text(long), Attachment("file:///a", long))),
            AssistantMessage((Text(long), call, broken)),
            UserMessage((ToolResult("c1", long), ToolResult("c2", "no"))),
        ],
        500,
    )
    assert count(cut) < 5_000
    first, second = (part for part in cut[1].parts if isinstance(part, ToolCall))
    arguments = parse_arguments(first)
    assert arguments["path"] == "a"
    assert str(arguments["content"]).startswith("word word")
    assert second.arguments == "{}"
    assert "file:///a" in repr(cut[0])


def test_cut_arguments_stay_readable_in_any_script() -> None:
    arguments = {"content": "é" * 2_000, "lines": ["ü" * 2_000]}
    call = ToolCall("c1", "write_file", json.dumps(arguments, ensure_ascii=False))
    [message] = cut_texts([AssistantMessage((call,))], 500)
    [cut] = message.parts
    assert isinstance(cut, ToolCall)
    assert {"éééé", "üüüü"} <= {cut.arguments[n : n + 4] for n in range(len(cut.arguments))}
    assert "\\u" not in cut.arguments


def test_the_note_about_a_removed_image_is_not_taken_for_the_users_words() -> None:
    messages = [UserMessage((Text("see"), Media("image/png", "AAAA" * 1_000))), *text_turn(1)[1:]]
    for shortened in (clear_old_results(messages, 2, 1_000, count), cut_texts(messages, 500)):
        assert REMOVED_MEDIA in repr(shortened)
        [first] = build_compacted_messages(shortened, len(shortened), "So far so good.")
        assert first == UserMessage((Text(OWN_WORDS_HEADING), Text("see"), SUMMARY))


# What stays behind a summary.


def test_the_newest_messages_are_those_that_fit() -> None:
    messages = joined(*(text_turn(number) for number in range(10)))
    index = index_of_newest(messages, count(messages[-3:]), count)
    assert index == len(messages) - 3
    assert index_of_newest(messages, 0, count) == len(messages) - 1
    assert index_of_newest([], 100, count) == 0


def test_the_tail_begins_with_no_results_and_keeps_calls_with_theirs() -> None:
    messages = joined(*(call_turn(number) for number in range(10)), text_turn(10))
    for length in range(1, len(messages) + 1):
        for tokens in (0, 100, 300, 10**6):
            index = index_of_tail(messages[:length], tokens, count)
            tail = messages[index:length]
            assert tail
            assert not any(isinstance(part, ToolResult) for part in tail[0].parts)


def test_the_tail_begins_directly_behind_results_that_it_cannot_keep() -> None:
    messages = joined(*(call_turn(number) for number in range(3)), text_turn(3))
    assert index_of_tail(messages, count(messages[-4:]), count) == len(messages) - 3


def test_a_tail_of_results_alone_begins_with_their_calls() -> None:
    messages = joined(*(call_turn(number) for number in range(3)))[:-1]
    assert index_of_tail(messages, 0, count) == len(messages) - 2


def test_the_summary_request_leaves_all_earlier_messages_unchanged() -> None:
    messages = joined(text_turn(1))
    *before, question = append_question(messages, build_summary_question("the tests"))
    assert before == messages
    assert isinstance(question, UserMessage)
    [text] = question.parts
    assert isinstance(text, Text)
    assert text.text.endswith("Pay particular attention to: the tests")


def test_a_question_is_merged_into_a_last_user_message() -> None:
    messages = call_turn(1)[:3]
    *before, last = append_question(messages, "What now?")
    assert before == messages[:2]
    assert isinstance(last, UserMessage)
    assert last.parts[0] == ToolResult("c1", "out")
    assert last.parts[1:] == (Text("What now?"),)


def test_the_users_words_the_summary_and_the_newest_messages_remain() -> None:
    messages = joined(*(text_turn(number) for number in range(3)))
    messages[2] = UserMessage((Text("question 1"), Text("[a remark]", is_remark=True)))
    first, *rest = build_compacted_messages(messages, 4, " So far so good. \n")
    words = (Text(OWN_WORDS_HEADING), Text("question 0"), Text("question 1"))
    assert first == UserMessage((*words, SUMMARY, Text("question 2")))
    assert rest == [AssistantMessage((Text("answer 2"),))]


def test_a_second_summary_replaces_the_first_and_keeps_the_words() -> None:
    messages: Sequence[Message] = joined(*(call_turn(number) for number in range(3)))
    for number in range(3, 6):
        short = build_compacted_messages(messages, len(messages) - 1, "So far so good.")
        assert repr(short).count(SUMMARY_HEADING) == 1
        assert repr(short).count(OWN_WORDS_HEADING) == 1
        assert [f"task {n}" in repr(short) for n in range(number)] == [True] * number
        assert history_errors(short) == []
        messages = [*short, *call_turn(number)]


def test_of_many_words_the_first_prompt_and_the_newest_survive() -> None:
    prompts = [f"prompt {number} {'w' * 1_500}" for number in range(9)]
    messages = [
        message
        for prompt in prompts
        for message in (UserMessage((Text(prompt),)), AssistantMessage((Text("Yes."),)))
    ]
    first = build_compacted_messages(messages, len(messages) - 1, "So.")[0]
    kept = [part.text for part in first.parts if isinstance(part, Text)][1:-1]
    assert kept == [prompts[0], prompts[7], prompts[8]]
    assert sum(map(len, kept)) <= MAX_OWN_WORDS_CHARACTERS


def own_words_after_summary(*prompts: str) -> list[str]:
    """Return those of the prompts that are kept behind a summary."""
    messages = [
        message
        for prompt in prompts
        for message in (UserMessage((Text(prompt),)), AssistantMessage((Text("Yes."),)))
    ]
    [first] = build_compacted_messages(messages, len(messages), "So.")
    return [part.text for part in first.parts if isinstance(part, Text)][1:-1]


def test_the_words_that_fill_their_budget_exactly_are_kept_and_one_more_is_not() -> None:
    half, quarter = "a" * (MAX_OWN_WORDS_CHARACTERS // 2), "b" * (MAX_OWN_WORDS_CHARACTERS // 4)
    kept = own_words_after_summary(half, "early", quarter, quarter)
    assert kept == [half, quarter, quarter]
    assert own_words_after_summary(half, quarter + "b", quarter) == [half, quarter]


def test_what_tools_keep_in_messages_is_restated_behind_the_summary() -> None:
    messages = joined(call_turn(1), call_turn(2))
    carried = (
        AssistantMessage((ToolCall("t", "todo", "{}"),)),
        UserMessage((ToolResult("t", "1 item"),)),
    )
    short = build_compacted_messages(messages, 4, "So.", carried)
    assert short[1:3] == (
        carried[0],
        UserMessage((ToolResult("t", "1 item"), Text("task 2"))),
    )
    assert history_errors(short) == []


@given(
    st.lists(st.sampled_from(["asked", "worked", "redacted"]), min_size=1, max_size=20),
    st.integers(0, 2_000),
    st.integers(0, 3),
)
def test_a_compacted_history_is_valid_for_a_provider(
    kinds: Sequence[str], tail_tokens: int, unanswered: int
) -> None:
    exchanges: list[list[Message]] = []
    for number, kind in enumerate(kinds):
        exchange = call_turn(number) if kind == "worked" else text_turn(number)
        if kind == "redacted":
            exchange[-1] = AssistantMessage((RedactedThinking("…"), Text("so")))
        exchanges.append(exchange)
    messages = joined(*exchanges)
    messages = messages[: max(len(messages) - unanswered, 2)]
    if history_errors(messages):
        return
    tail_from = index_of_tail(messages, tail_tokens, count)
    short = build_compacted_messages(messages, tail_from, "So.")
    assert history_errors(short) == []
    assert all(type(one) is not type(other) for one, other in pairwise(short))
    assert isinstance(short[0], UserMessage)
    assert short[-1].parts[-1] == messages[-1].parts[-1]
