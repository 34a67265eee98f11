"""Decode the body of a page by its declared charset. Pure, and never fails.

Only charsets that web pages use are accepted: other codecs of the library can be slow or are no
text encodings.
"""

import codecs
import re
from collections.abc import Mapping
from contextlib import suppress

META_SCAN_BYTES = 2_048
_META_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_.:-]{1,40})""", re.I
)
_CHARSET_PARAMETER = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_.:-]{1,40})""", re.I)
_BYTE_ORDER_MARKS: Mapping[bytes, str] = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SUPPORTED_CODECS = frozenset(
    (
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "big5", "cp932", "euc_jp"),
        *("euc_kr", "gb18030", "gb2312", "gbk", "hz", "iso2022_jp", "koi8-r", "koi8-u"),
        *("mac-roman", "shift_jis", "tis-620", "cp866", "cp874", "cp949", "cp1250", "cp1251"),
        *("cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "iso8859-1"),
        *("iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7"),
        *("iso8859-8", "iso8859-9", "iso8859-10", "iso8859-13", "iso8859-14", "iso8859-15"),
        "iso8859-16",
    )
)
_BROWSER_ALIASES = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}


def decode_body(body: bytes, content_type: str) -> str:
    """Return a body as text: by its byte order mark, its header, its `<meta>` tag, else as UTF-8.

    >>> decode_body("é".encode("latin-1"), "text/plain; charset=ISO-8859-1")
    'é'
    """
    for bom, encoding in _BYTE_ORDER_MARKS.items():
        if body.startswith(bom):
            return body.decode(encoding, "replace")
    header_match = _CHARSET_PARAMETER.search(content_type[:1_000])
    body_match = _META_CHARSET.search(body[:META_SCAN_BYTES])
    charset = header_match[1] if header_match else body_match[1].decode() if body_match else ""
    with suppress(LookupError):  # an unknown charset counts as none
        codec = codecs.lookup(charset).name
        if codec in _SUPPORTED_CODECS:
            return body.decode(_BROWSER_ALIASES.get(codec, codec), "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        # The size limit may cut the body inside a UTF-8 sequence; that does not make it
        # Windows-1252.
        is_cut_short = error.end == len(body) and error.reason == "unexpected end of data"
        return body.decode("utf-8" if is_cut_short else "cp1252", "replace")


def is_text(body: bytes) -> bool:
    """Return whether bytes without a declared media type look like text.

    >>> is_text(b"plain"), is_text(bytes(4))
    (True, False)
    """
    return b"\0" not in body[:8_192] or body.startswith(tuple(_BYTE_ORDER_MARKS))
