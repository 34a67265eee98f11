"""Known values in a stream: hidden wherever it is cut, and nothing else is."""

import json
import random
from itertools import pairwise
from urllib.parse import quote

import pytest

from acp_server.text.value_redaction import HiddenValues, StreamRedactor

KEY = "sk/live+0815=ü"


def hidden(**values: str) -> HiddenValues:
    found = HiddenValues()
    for name, value in values.items():
        found.add(name, value)
    return found


def redact(values: HiddenValues, *chunks: bytes) -> bytes:
    redactor = StreamRedactor(values)
    return b"".join([*map(redactor.write, chunks), redactor.finish()])


def test_a_value_is_hidden_wherever_the_stream_is_cut() -> None:
    values, data = hidden(KEY=KEY), f"a {KEY}{KEY} sk/live+08 {KEY}\n".encode()
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1, 3):
            found = redact(values, data[:first], data[first:second], data[second:])
            assert found == b"a [KEY][KEY] sk/live+08 [KEY]\n"


def test_only_what_may_be_a_value_is_held_back() -> None:
    redactor = StreamRedactor(hidden(KEY="abcdefgh"))
    assert redactor.write(b"$ abc") == b"$ "
    assert redactor.write(b"x abcd") == b"abcx "
    assert redactor.write(b"efgh$ ") == b"[KEY]$ "
    assert redactor.finish() == b""
    redactor.write(b"abcdefg")
    assert redactor.finish() == b"abcdefg"


def test_the_longer_of_two_values_counts() -> None:
    values = hidden(SHORT="abcdefgh", LONG="abcdefghij", OTHER="ghijklmnop")
    for size in (1, 2, 3, 100):
        data = b"abcdefghij abcdefgh abcdefghijklmnop abcdefghi"
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        assert redact(values, *chunks) == b"[LONG] [SHORT] [LONG]klmnop [SHORT]i"


def test_random_streams_are_what_replacing_all_at_once_gives() -> None:
    values = hidden(A="aabaabaa", B="abaabaab", C="baabaabaabaa")
    source = random.Random(7)  # noqa: S311  not for secrets
    for _ in range(300):
        data = bytes(source.choices(b"ab", (2, 1), k=source.randint(0, 60)))
        cuts = sorted(source.randint(0, len(data)) for _ in range(source.randint(0, 8)))
        edges = [0, *cuts, len(data)]
        chunks = [data[a:b] for a, b in pairwise(edges)]
        found = redact(values, *chunks)
        assert found == redact(values, data)
        assert not any(each in found for each in (b"aabaabaa", b"abaabaab", b"baabaabaabaa"))


@pytest.mark.parametrize(
    "printed",
    [json.dumps(KEY)[1:-1], json.dumps(KEY, ensure_ascii=False)[1:-1], quote(KEY, safe="")],
)
def test_forms_in_json_and_urls_are_hidden(printed: str) -> None:
    assert redact(hidden(KEY=KEY), printed.encode()) == b"[KEY]"


def test_a_key_of_several_lines_is_hidden_line_by_line() -> None:
    lines = [
        "-----BEGIN KEY-----",
        "MIIEpAIBAAKCAQEA0815",
        "Zm9vYmFyYmF6cXV4cXV1",
        "-----END KEY-----",
    ]
    values = hidden(PEM="\n".join(lines))
    assert redact(values, "\n".join(lines).encode()) == b"[PEM]"
    assert redact(values, "\r\n".join(lines).encode()) == b"[PEM]"
    assert redact(values, f"1: {lines[1]}\n".encode()) == b"1: [PEM]\n"
    assert redact(values, lines[2].encode()) == b"[PEM]"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_value_that_is_printed_in_colors_is_hidden(size: int) -> None:
    values = hidden(KEY="abcd+fgh")
    data = b"\x1b[31mx ab\x1b[0m\x1b[1;32mcd\x1b[0m+\x1b[Kfgh\x1b[0m ab\x1b[0mcd\x1b[0m x\x1b[1m"
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert redact(values, *chunks) == b"\x1b[31mx [KEY]\x1b[0m ab\x1b[0mcd\x1b[0m x\x1b[1m"
    each = b"".join(b"\x1b[1m%c" % byte for byte in b"abcd+fgh")
    assert redact(values, each[:30], each[30:]) == b"\x1b[1m[KEY]"


def test_a_value_with_escape_sequences_of_its_own_is_hidden() -> None:
    values = hidden(KEY="ab\x1b[1mcdefgh", OTHER="other-value")
    assert redact(values, b"ab\x1b[1mcdefgh other-value") == b"[KEY] [OTHER]"
    assert redact(values, b"a\x1b[0mb\x1b[1mcde\x1b[0mfgh") == b"[KEY]"


def test_short_values_and_streams_without_values_stay() -> None:
    values = hidden(PORT="8080", FLAG="true")
    assert values.pattern is None
    assert redact(values, b"8080 true \xff") == b"8080 true \xff"


def test_values_may_be_added_while_a_stream_runs() -> None:
    values = hidden()
    redactor = StreamRedactor(values)
    assert redactor.write(b"abcdefgh") == b"abcdefgh"
    values.add("KEY", "abcdefgh")
    assert redactor.write(b"abcdefgh") == b"[KEY]"
