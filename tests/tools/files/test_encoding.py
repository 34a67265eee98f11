"""Texts survive being read and written, whatever bytes they are stored as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.tools.files.encoding import (
    Encoding,
    Newline,
    TextForm,
    convert_newlines,
    decode,
    detect_newline,
    encode,
)
from acp_server.tools.files.errors import BinaryFileError, EncodingError
from tests.support.case_table import each_case

CRLF = TextForm(newline="\r\n")


@pytest.mark.parametrize(
    ("data", "text", "form"),
    [
        pytest.param(b"", "", TextForm(), id="empty"),
        pytest.param(b"a", "a", TextForm(), id="no newline"),
        pytest.param(b"a\nb\n", "a\nb\n", TextForm(), id="LF"),
        pytest.param(b"a\r\nb\r\n", "a\nb\n", CRLF, id="CRLF"),
        pytest.param(b"a\r\nb", "a\nb", CRLF, id="CRLF, none at the end"),
        pytest.param(b"a\rb\r", "a\nb\n", TextForm(newline="\r"), id="CR"),
        pytest.param(b"a\r\nb\n", "a\r\nb\n", TextForm(newline=None), id="mixed"),
        pytest.param(b"\r\r\n", "\r\r\n", TextForm(newline=None), id="CR before CRLF"),
        pytest.param(
            b"\xef\xbb\xbfa\r\n",
            "a\n",
            TextForm("utf-8", has_bom=True, newline="\r\n"),
            id="UTF-8 BOM",
        ),
        pytest.param(b"\xef\xbb\xbf", "", TextForm("utf-8", has_bom=True), id="BOM alone"),
        pytest.param("ä€\U0001f600\n".encode(), "ä€\U0001f600\n", TextForm(), id="UTF-8"),
        pytest.param(
            b"\xff\xfeh\0\r\0\n\0",
            "h\n",
            TextForm("utf-16-le", has_bom=True, newline="\r\n"),
            id="UTF-16 LE",
        ),
        pytest.param(
            b"\xfe\xff\0h\0\n",
            "h\n",
            TextForm("utf-16-be", has_bom=True, newline="\n"),
            id="UTF-16 BE",
        ),
        pytest.param(b"\xff\xfe", "", TextForm("utf-16-le", has_bom=True), id="UTF-16 BOM alone"),
        pytest.param(b"h\0i\0\n\0", "hi\n", TextForm("utf-16-le"), id="UTF-16 LE by its zeros"),
        pytest.param(b"\0h\0i\0\n", "hi\n", TextForm("utf-16-be"), id="UTF-16 BE by its zeros"),
        pytest.param(b"caf\xe9\n", "caf\xe9\n", TextForm("latin-1"), id="Latin-1"),
        pytest.param(b"\x93caf\xe9\x94", "“café”", TextForm("cp1252"), id="Windows-1252"),
        pytest.param(b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n", TextForm(), id="colours"),
        pytest.param(b"a\x0cb\x85", "a\x0cb…", TextForm("cp1252"), id="form feed is no newline"),
    ],
)
def test_bytes_are_decoded_with_their_text_form(data: bytes, text: str, form: TextForm) -> None:
    assert decode(data) == (text, form)
    assert encode(text, form) == data


@each_case(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
        (b"PK\x03\x04\x14\0", "a ZIP archive (or an office document, a wheel, a jar)"),
        (b"\x7fELF\x02\x01\x01\0", "an ELF program or library"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\x1f\x8b\x08", "a gzip archive"),
        (b"a\0b", "binary data"),
        (b"a\0b\0", "binary data"),
        (b"\x01\x02\x03\x04", "binary data"),
        (b"\xff\xfe\0\0a\0\0\0", "binary data"),
        (bytes(range(0x80, 0x100)), "binary data"),
        (b"\0" * 64, "binary data"),
    ],
    ids=lambda row: row[0][:8].hex(),
)
def test_a_file_that_is_not_text_is_named(data: bytes, kind: str) -> None:
    with pytest.raises(BinaryFileError) as caught:
        decode(data, "x.bin")
    assert caught.value.kind == kind
    assert caught.value.reason == f"x.bin is {kind}, not text; use a command that knows the format"


SAMPLES = st.one_of(
    st.binary(max_size=64),
    st.text(max_size=64).map(lambda text: text.encode(errors="ignore")),
    st.text(max_size=64).map(lambda text: text.encode("utf-16", errors="ignore")),
    st.text("ab\r\n\ufeff", max_size=32).map(lambda text: text.encode("utf-16-be")),
    st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\xe4", b"\xef\xbb\xbf", b"\xff\xfe"])).map(
        b"".join
    ),
)


@given(SAMPLES)
def test_decoded_text_is_encoded_to_the_same_bytes(data: bytes) -> None:
    try:
        text, form = decode(data)
    except BinaryFileError:
        return
    assert encode(text, form) == data
    assert form.newline is None or "\r" not in text


@given(st.text("ab\r\n", max_size=24), st.sampled_from(["\n", "\r\n", "\r"]))
def test_normalized_text_has_a_single_newline_style(text: str, newline: Newline) -> None:
    styled = convert_newlines(text, newline)
    assert detect_newline(styled) in {newline, "\n"}
    assert convert_newlines(styled, "\n") == convert_newlines(text, "\n")


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
@pytest.mark.parametrize("text", ["a\nb\n", "a\r\nb\r\n", "a\r\nb\n"])
def test_new_lines_get_the_newline_style_of_the_file(text: str, newline: Newline) -> None:
    assert encode(text, TextForm(newline=newline)) == f"a{newline}b{newline}".encode()


@pytest.mark.parametrize("text", ["a\r\nb\n", "a\rb"])
@pytest.mark.parametrize("newline", ["\n", None])
def test_existing_newlines_are_left_unchanged(text: str, newline: Newline | None) -> None:
    assert encode(text, TextForm(newline=newline)) == text.encode()


@pytest.mark.parametrize(
    ("encoding", "text", "shown"),
    [
        ("latin-1", "a\n\nb €\n", "is encoded in latin-1, which lacks € (U+20AC) of line 3"),
        ("cp1252", "≠", "is encoded in cp1252, which lacks ≠ (U+2260) of line 1"),
        (
            "utf-8",
            "\n\ud800",
            "is encoded in utf-8, which lacks the control or half character (U+D800) of line 2",
        ),
    ],
)
def test_an_unencodable_character_is_named_with_its_line(
    encoding: Encoding, text: str, shown: str
) -> None:
    with pytest.raises(EncodingError) as caught:
        encode(text, TextForm(encoding, newline="\r\n"), "x.txt")
    assert caught.value.reason == (
        f"x.txt {shown}; write it another way, or convert the file first"
    )
