"""What leaves a run is harmless: no secrets, nothing that steers a terminal or a runner."""

import json

from hypothesis import given
from hypothesis import strategies as st

from acp_server.headless.run.lines import json_line
from acp_server.headless.run.sanitizing import OutputSanitizer, collect_secrets
from acp_server.headless.run.wire_lines import AcpMessageWriter
from acp_server.headless.wire import WireLine
from acp_server.text.redaction import REDACTED

SECRET = "correct-horse-battery"  # noqa: S105  not one of anybody's
CLEANER = OutputSanitizer((SECRET,))
TEXTS = st.text(st.characters(), max_size=40)


def chunk(text: str, message_id: str = "m1", kind: str = "agent_message_chunk") -> WireLine:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": kind, "messageId": message_id, "content": content}
    message = {"method": "session/update", "params": {"sessionId": "s", "update": update}}
    return WireLine("agent", json.dumps(message).encode())


def test_secrets_are_recognized_by_their_names() -> None:
    environment = {"DEPLOY_TOKEN": SECRET, "HOME": "/home/me", "API_KEY": "short", "PATH": "/bin"}
    assert collect_secrets(environment, ("of-the-endpoint",)) == ("of-the-endpoint", SECRET)


@given(TEXTS, TEXTS)
def test_no_output_contains_a_secret_or_an_escape_sequence(before: str, after: str) -> None:
    text = f"{before}{SECRET}{after}\x1b[31m"
    for clean in (CLEANER.text(text), CLEANER.plain(text), CLEANER.line(text)):
        assert SECRET not in clean
        clean.encode()
    assert not set("\x1b\x9b\x07\r\x08") & set(CLEANER.plain(text))


def test_keys_of_objects_are_sanitized_too() -> None:
    assert CLEANER.json({SECRET: [SECRET, 1]}) == {REDACTED: [REDACTED, 1]}


@given(st.text(st.sampled_from('#[: \\"a'), max_size=20))
def test_sanitized_json_is_equivalent_and_contains_no_workflow_command(text: str) -> None:
    line = json_line({"text": text})
    assert json.loads(line) == {"text": text}
    assert "##[" not in line
    assert not line.lstrip().startswith("::")


def test_megabytes_on_one_line_are_sanitized_quickly() -> None:
    text = "a" * 3_000_000 + SECRET
    assert CLEANER.text(text).endswith(REDACTED)


@given(st.integers(1, len(SECRET) - 1))
def test_a_secret_split_over_two_chunks_is_not_in_the_raw_wire_log(at: int) -> None:
    lines: list[str] = []
    wire = AcpMessageWriter(lines.append, CLEANER)
    wire.add(chunk(f"It is {SECRET[:at]}"))
    wire.add(chunk(f"{SECRET[at:]}, as you see"))
    wire.end()
    (line,) = (json.loads(each) for each in lines)
    content = line["message"]["params"]["update"]["content"]
    assert content["text"] == f"It is {REDACTED}, as you see"


def test_a_finished_message_is_written_before_later_output() -> None:
    lines: list[str] = []
    wire = AcpMessageWriter(lines.append, CLEANER)
    for line in (chunk("a"), chunk("b", "m2"), chunk("c", "m2", "agent_thought_chunk")):
        wire.add(line)
    wire.add(WireLine("client", b"no json \xff"))
    wire.end()
    messages = [json.loads(line)["message"] for line in lines]
    assert messages.pop() == "no json �"
    updates = [message["params"]["update"] for message in messages]
    assert [update["content"]["text"] for update in updates] == ["a", "b", "c"]


def test_a_growing_text_does_not_show_the_beginning_of_a_secret() -> None:
    assert CLEANER.partial_json({"a": f"key: {SECRET[:9]}"}) == {"a": f"key: {REDACTED}"}


def test_a_patch_adds_no_secret_and_still_applies_to_files_containing_one() -> None:
    patch = f"-old {SECRET}\n+new {SECRET}\n".encode()
    assert CLEANER.patch(patch) == f"-old {SECRET}\n+new {REDACTED}\n".encode()


def test_a_multi_line_secret_is_also_redacted_line_by_line() -> None:
    lines = "MIIEvQIBADANBgkqhkiG9w0B", "AQEFAASCBKcwggSjAgEAAoIB"
    key = "\n".join(("-----BEGIN KEY-----", *lines, "-----END KEY-----", ""))
    cleaner = OutputSanitizer(collect_secrets({"DEPLOY_KEY": key}))
    patch = "".join(f"+{line}\n" for line in key.splitlines()).encode()
    assert not any(line.encode() in cleaner.patch(patch) for line in lines)
    assert not any(line in cleaner.text(f"It is {key.strip()}, or {lines[1]}.") for line in lines)


def test_whitespace_around_a_secret_is_not_part_of_it() -> None:
    cleaner = OutputSanitizer(collect_secrets({"API_TOKEN": " hunter2-and-more\n"}))
    assert cleaner.text("It is hunter2-and-more.") == "It is (hidden)."
