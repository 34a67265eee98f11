"""Which bytes are text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompt_engine.decoding import UndecodableError, decode_text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param(b"", "", id="nothing"),
        pytest.param("Grüße".encode(), "Grüße", id="UTF-8"),
        pytest.param(b"\xef\xbb\xbfa", "a", id="a byte order mark is dropped"),
        pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfa", "\ufeffa", id="but only one"),
        pytest.param(b"a\r\nb\rc\n", "a\nb\nc\n", id="lines end in line feeds"),
    ],
)
def test_text_is_decoded(raw: bytes, text: str) -> None:
    assert decode_text(raw) == text


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"ab\xff", "byte 2 is not UTF-8", id="a stray byte"),
        pytest.param("a".encode("utf-16"), "byte 0 is not UTF-8", id="UTF-16"),
        pytest.param(
            "a".encode("utf-16-le"),
            "it holds NUL, as UTF-16 and binary files do",
            id="a bare UTF-16",
        ),
        pytest.param(b"\xed\xa0\xbd", "byte 0 is not UTF-8", id="half a character"),
    ],
)
def test_undecodable_bytes_are_refused_with_a_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(UndecodableError) as failure:
        decode_text(raw)
    assert failure.value.reason == reason


@given(st.binary())
def test_any_bytes_are_decoded_or_refused(raw: bytes) -> None:
    try:
        text = decode_text(raw)
    except UndecodableError:
        return
    assert "\r" not in text
    assert "\0" not in text
    text.encode()
