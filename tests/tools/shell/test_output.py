import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.tools.shell.output import OutputLog, decode_utf8, is_binary, render_for_model
from tests.support.case_table import each_case


def logged(*chunks: bytes, head: int = 8, tail: int = 8) -> str:
    log = OutputLog(head, tail)
    for chunk in chunks:
        log.write(chunk)
    return log.text()


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([b"short"], "short", id="short"),
        pytest.param([b"0123456789abcdef"], "0123456789abcdef", id="just fits"),
        pytest.param(
            [b"01234567-89abcdef"],
            "01234567\n[... 1 bytes left out ...]\n89abcdef",
            id="one byte too many",
        ),
        pytest.param(
            [b"0123456\n", b"x" * 10_000, b"the end\n"],
            "0123456\n[... 10,000 bytes left out ...]\nthe end\n",
            id="line by line",
        ),
        pytest.param(["ä".encode()[:1], "ä".encode()[1:]], "ä", id="split over chunks"),
        pytest.param([b"0123456\xc3", b"\xa4bcdefg"], "0123456äbcdefg", id="split over the border"),
        pytest.param([b"\xff\xfe ok"], "\ufffd\ufffd ok", id="not UTF-8"),
        pytest.param(
            ["0123456ä".encode(), b"-" * 100, "ü89abcde".encode()],
            "0123456\n[... 104 bytes left out ...]\n89abcde",
            id="cut through two characters",
        ),
    ],
)
def test_the_log_shows_head_and_tail(chunks: list[bytes], text: str) -> None:
    assert logged(*chunks) == text


def test_with_no_head_or_tail_the_log_shows_the_omission_and_the_rest() -> None:
    assert logged(b"0123456789", head=0, tail=2) == "[... 8 bytes left out ...]\n89"
    assert logged(b"0123456789", head=2, tail=0) == "01\n[... 8 bytes left out ...]\n"


@given(st.text(), st.integers(1, 7), st.integers(0, 40), st.integers(0, 40))
def test_the_log_contains_only_whole_characters(text: str, size: int, head: int, tail: int) -> None:
    data = text.encode("utf-8", "replace")
    log = OutputLog(head, tail)
    for start in range(0, len(data), size):
        log.write(data[start : start + size])
    shown = log.text()
    assert log.total_bytes == len(data)
    if len(data) <= head + tail:
        assert shown == data.decode()
    assert "\ufffd" in text or "\ufffd" not in shown


@pytest.mark.parametrize("size", [1, 65_536], ids=["bytes", "blocks"])
def test_writing_is_cheap_for_any_chunk_size(size: int) -> None:
    log = OutputLog(20_000, 20_000)
    chunk = b"x" * size
    started = time.process_time()
    for _ in range(200_000 if size == 1 else 320):
        log.write(chunk)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain\ttext\n\n\n", "plain\ttext\n\n\n", id="nothing to do"),
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colours"),
        pytest.param("\x1b]0;title\x07text", "text", id="a title"),
        pytest.param("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", id="a link"),
        pytest.param("\x1b]0;never ended\nnext", "0;never ended\nnext", id="a title without end"),
        pytest.param("\x1b(Bascii\x1b=", "ascii", id="character sets"),
        pytest.param("\x1bPpicture\x1b\\after", "after", id="a picture"),
        pytest.param("lone \x1b", "lone ", id="a lone escape"),
        pytest.param("one\r\ntwo\r\n", "one\ntwo\n", id="CRLF"),
        pytest.param("10%\r50%\r100%\nok", "100%\nok", id="a progress bar"),
        pytest.param("abcdef\rXY", "XYcdef", id="overwritten in part"),
        pytest.param("long line\r\x1b[Kdone", "done", id="erased to the right"),
        pytest.param("working\r\x1b[2K", "", id="erased whole"),
        pytest.param("working\x1b[2K\rdone", "done", id="erased before the return"),
        pytest.param("\x1b[32m10%\x1b[0m\r\x1b[32m20%\x1b[0m", "20%", id="a coloured bar"),
    ],
)
def test_the_model_sees_output_as_a_screen_would_show_it(text: str, shown: str) -> None:
    assert render_for_model(text, 1000) == shown


def test_a_long_text_keeps_its_head_and_tail() -> None:
    assert render_for_model("0123456789", 5) == "012\n[... 5 characters left out ...]\n89"
    assert render_for_model("0123456789", 10) == "0123456789"
    assert render_for_model("0123456789", 0) == "[... 10 characters left out ...]\n"


@each_case(
    "piece",
    [
        "\x1b[",
        "\x1b]",
        "\x1b[0",
        "\x1bP",
        "\r",
        "\x1b[2K",
        "\x1b[K\r",
        "x\r",
        "\n",
        "\x1b(",
        "\x9b",
    ],
    ids=repr,
)
@each_case("filler", ["", "0" * 50, " " * 50], ids=["bare", "digits", "spaces"])
def test_no_text_is_slow_to_process(piece: str, filler: str) -> None:
    text = (piece + filler) * (50_000 // len(piece + filler))
    started = time.process_time()
    render_for_model(text + "0" * 50_000, 1000)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", False),
        (b"text\n", False),
        (b"text with one NUL at its end\0", False),
        (b"a\0b\0README.md\0", False),
        ("日本\0語\0".encode(), False),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x03\0>\0", True),
        (b"\0" * 10_000, True),
        (zlib.compress(bytes(range(256)) * 9), True),
        (b"PK\x03\x04" + bytes(range(32)) * 40, True),
    ],
)
def test_binary_output_is_told_from_text(data: bytes, expected: object) -> None:
    assert is_binary(decode_utf8(data)) is expected
