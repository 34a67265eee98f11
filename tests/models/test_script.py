"""The script format: what can be written, and which line is named when it cannot."""

import pytest

from acp_server.models.script import (
    FailLine,
    PaceLine,
    PauseLine,
    SayLine,
    ScriptBlock,
    ScriptError,
    ScriptLine,
    StopLine,
    parse_script,
)
from tests.support.case_table import each_case


def test_a_script_consists_of_blocks_of_lines_in_order() -> None:
    script = """\
# A comment.

prompt: greet
think: A greeting.
say: Hello!
  And a second line.
pace: 20ms
pause: 1.5s
chunks: 3 word
fail: The endpoint is down.

# Another comment.
prompt: *
stop: max_tokens
"""
    assert parse_script(script) == (
        ScriptBlock(
            "greet",
            (
                SayLine("A greeting.", is_thinking=True),
                SayLine("Hello!\nAnd a second line."),
                PaceLine(0.02),
                PauseLine(1.5),
                SayLine("word", copies=3),
                FailLine("The endpoint is down."),
            ),
        ),
        ScriptBlock("*", (StopLine("max_tokens"),)),
    )


@pytest.mark.parametrize("nothing", ["", "\n\n", "# only a comment", "\n# a\n\n# b\n"])
def test_a_script_may_have_no_blocks(nothing: str) -> None:
    assert parse_script(nothing) == ()


@each_case(
    ("written", "line"),
    [
        ("say: Hello!", SayLine("Hello!")),
        ("say:", SayLine("")),
        ("say: ", SayLine("")),
        ("say:  two spaces are one of mine", SayLine(" two spaces are one of mine")),
        ("say: a: b", SayLine("a: b")),
        ("say: # no comment", SayLine("# no comment")),
        ("say: a\n  b\n    c", SayLine("a\nb\n  c")),
        ("say:\n  a", SayLine("\na")),
        ("say: a\n\n  b", SayLine("a\n\nb")),
        ("say: a\n\n\n", SayLine("a")),
        ("say: a\n# a comment\n  b", SayLine("a\nb")),
        ("say: a\n  # no comment", SayLine("a\n# no comment")),
        ("say: a\n  prompt: b", SayLine("a\nprompt: b")),
        ("say: a\r\n  b\r\n", SayLine("a\nb")),
        ("say: a\u2028b\x85c\x0cd", SayLine("a\u2028b\x85c\x0cd")),
        ("say: 日本 🙂", SayLine("日本 🙂")),
        ("think: Hm.", SayLine("Hm.", is_thinking=True)),
        ("chunks: 2000 word", SayLine("word", copies=2000)),
        ("chunks: 1 a b", SayLine("a b", copies=1)),
        ("chunks: 3 a\n  b", SayLine("a\nb", copies=3)),
        ("pace: 20ms", PaceLine(0.02)),
        ("pace: 0ms", PaceLine(0)),
        ("pace: 0.5s", PaceLine(0.5)),
        ("pause: 2s ", PauseLine(2)),
        ("fail: It broke.", FailLine("It broke.")),
        ("stop: end_turn", StopLine("end_turn")),
        ("stop: max_tokens", StopLine("max_tokens")),
        ("stop: refusal ", StopLine("refusal")),
    ],
)
def test_each_line_is_parsed_as_documented(written: str, line: ScriptLine) -> None:
    assert parse_script(f"prompt: *\n{written}") == (ScriptBlock("*", (line,)),)


A_TIME = "expected a time such as 20ms or 1.5s, found"
A_STOP = "stop is one of end_turn, max_tokens, refusal"
A_COUNT = "expected `chunks: COUNT TEXT`"


@each_case(
    ("script", "complaint"),
    [
        ("say: Hello!", "line 1: a script must start with `prompt: TEXT`"),
        ("# a\n\npace: 1s", "line 3: a script must start with `prompt: TEXT`"),
        ("  indented", "line 1: expected `verb: text`, found '  indented'"),
        ("\ufeffprompt: *", "line 1: expected `verb: text`, found '\\ufeffprompt: *'"),
        ("prompt: *\nHello!", "line 2: expected `verb: text`, found 'Hello!'"),
        ("prompt: *\nSay: a", "line 2: expected `verb: text`, found 'Say: a'"),
        ("prompt: *\nsay:a", "line 2: expected `verb: text`, found 'say:a'"),
        ("prompt: *\nsay : a", "line 2: expected `verb: text`, found 'say : a'"),
        ("prompt: *\n say: a", "line 2: expected `verb: text`, found ' say: a'"),
        ("prompt: *\n\tsay: a", "line 2: expected `verb: text`, found '\\tsay: a'"),
        ("prompt: *\nsay: a\n  b\n\nfly: away", "line 5: there is no verb 'fly'"),
        ("prompt: *\npace: 20", f"line 2: {A_TIME} '20'"),
        ("prompt: *\npace:", f"line 2: {A_TIME} ''"),
        ("prompt: *\npause: -1s", f"line 2: {A_TIME} '-1s'"),
        ("prompt: *\npause: 1e3s", f"line 2: {A_TIME} '1e3s'"),
        ("prompt: *\npause: 1 s", f"line 2: {A_TIME} '1 s'"),
        ("prompt: *\npause: 1m", f"line 2: {A_TIME} '1m'"),
        ("prompt: *\npause: 1s\n  more", f"line 2: {A_TIME} '1s\\nmore'"),
        ("prompt: *\nstop: now", f"line 2: {A_STOP}"),
        ("prompt: *\nstop:", f"line 2: {A_STOP}"),
        ("prompt: *\nstop: cancelled", f"line 2: {A_STOP}"),
        ("prompt: *\nchunks: word", f"line 2: {A_COUNT}"),
        ("prompt: *\nchunks: 5", f"line 2: {A_COUNT}"),
        ("prompt: *\nchunks: 0 word", f"line 2: {A_COUNT}"),
        ("prompt: *\nchunks: -1 word", f"line 2: {A_COUNT}"),
        ("prompt: *\nchunks: 99999999 word", f"line 2: {A_COUNT}"),
        (f"prompt: *\nchunks: {'9' * 5000} word", f"line 2: {A_COUNT}"),
    ],
)
def test_an_invalid_script_is_refused_with_its_line(script: str, complaint: str) -> None:
    with pytest.raises(ScriptError) as raised:
        parse_script(script)
    assert str(raised.value) == complaint


@pytest.mark.parametrize(
    ("pattern", "prompt", "answers"),
    [
        ("*", "", True),
        ("*", "anything", True),
        ("greet", "Please GREET me", True),
        ("greet me", "greet us", False),
        ("straße", "STRASSE", True),
        ("a*", "ab", False),
        ("a*", "a*b", True),
    ],
)
def test_a_block_answers_the_prompts_that_contain_its_pattern(
    pattern: str, prompt: str, *, answers: bool
) -> None:
    assert ScriptBlock(pattern, ()).matches(prompt) is answers
