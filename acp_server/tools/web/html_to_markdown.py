"""Convert HTML to readable Markdown: headings, lists, links, code and tables are preserved. Pure.

Tags are processed as a stream, without a tree: a tree can cost quadratic time in the length of a
page, and pages come from untrusted authors. Invisible elements (scripts, styles, comments) are
dropped; everything else stays, hidden or not, because hidden text may matter.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urljoin

from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_SECONDS = 5.0
PIECE_CHARACTERS = 64 * 1024
MAX_LIST_DEPTH = 20
MAX_TITLE_CHARACTERS = 300
MIN_MAIN_CHARACTERS = 200
"""A shorter `<main>` is not taken for the page's content."""
_INVISIBLE_TAGS = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object"})
_BLOCK_TAGS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "dd", "details", "dialog", "div", "dl"),
        *("dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "main", "nav", "p"),
        *("section", "summary", "table", "tbody", "thead", "tfoot", "ul", "ol"),
    )
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_FLUSH_MARKUP = "\n<br>"
"""Makes the parser flush text that could have been the start of a tag or an entity."""
_SPACE = re.compile(r"\s+")
_GAPS = re.compile(r"\n{3,}")
Attributes = list[tuple[str, str | None]]


@frozen_dataclass
class HtmlText:
    """Title and text of a page."""

    title: str
    text: str
    is_complete: bool
    """Whether the whole page was parsed in time."""


def convert_html(
    source: str, base: str, now_seconds: Callable[[], float] = time.monotonic
) -> HtmlText:
    """Return the readable text of a page; its links are resolved against `base`.

    If the page has a `<main>` element of sufficient length, only that is returned.
    """
    parser = _HtmlConverter(base)
    deadline = now_seconds() + MAX_SECONDS
    is_complete = True
    for start in range(0, len(source), PIECE_CHARACTERS):
        # Security: hostile HTML can make the parser slow; check the time after each piece.
        if now_seconds() > deadline:
            is_complete = False
            break
        parser.feed(source[start : start + PIECE_CHARACTERS])
    # Without it, `HTMLParser` holds back trailing text that may continue.
    parser.feed(_FLUSH_MARKUP)
    return HtmlText(parser.title, parser.text(), is_complete and not parser.is_unfinished)


@dataclass(slots=True)
class _Link:
    target: str
    start: int


class _HtmlConverter(HTMLParser):
    """Streaming converter from HTML to Markdown."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._pieces: list[str] = []
        self._lists: list[int | None] = []
        """For each open list the number of its next item; None for unordered lists."""
        self._link: _Link | None = None
        """The open link; in HTML links do not nest."""
        self._preformatted = 0
        # Position of the `<main>` element in the written pieces.
        self._main_start: int | None = None
        self._main_end: int | None = None
        self._main_depth = 0
        self._invisible_tag: str = ""
        self._invisible_depth = 0
        self._title: list[str] = []
        self._is_in_title = False

    @property
    def title(self) -> str:
        """The page's title, on one line."""
        return _SPACE.sub(" ", "".join(self._title)).strip()[:MAX_TITLE_CHARACTERS]

    @property
    def is_unfinished(self) -> bool:
        """Whether the page ended within an invisible element or a tag."""
        return bool(self._invisible_tag or self.rawdata)

    def parse_marked_section(self, i: int, report: bool = True) -> int:  # noqa: FBT001, FBT002
        """Skip marked sections; the library's own parser raises on some of them."""
        return self.parse_bogus_comment(i, report)

    def text(self) -> str:
        """Return the output: the main part if it is long enough, else everything."""
        if self._main_start is not None:
            main_text = _collapse_blank_lines(
                "".join(self._pieces[self._main_start : self._main_end])
            )
            if len(main_text) >= MIN_MAIN_CHARACTERS:
                return main_text
        return _collapse_blank_lines("".join(self._pieces))

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        """Open an element."""
        if self._invisible_tag:
            self._invisible_depth += tag == self._invisible_tag
        elif tag in _INVISIBLE_TAGS:
            self._invisible_tag, self._invisible_depth = tag, 1
        elif tag == "title":
            self._is_in_title = True
        else:
            self._open(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        """Open a self-closing element, as in SVG; an invisible one must not stay open."""
        if tag not in _INVISIBLE_TAGS:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        if self._invisible_tag:
            self._invisible_depth -= tag == self._invisible_tag
            if self._invisible_depth == 0:
                self._invisible_tag = ""
        elif tag == "title":
            self._is_in_title = False
        else:
            self._close(tag)

    def handle_data(self, data: str) -> None:
        """Write text."""
        if self._invisible_tag:
            return
        if self._is_in_title:
            self._title.append(data[:MAX_TITLE_CHARACTERS])
        elif self._preformatted:
            self._write(data)
        else:
            # White space only separates words.
            text = _SPACE.sub(" ", data)
            last_character = self._pieces[-1][-1:] if self._pieces else "\n"
            self._write(text.lstrip(" ") if last_character in {" ", "\n"} else text)

    def _open(self, tag: str, attributes: dict[str, str | None]) -> None:
        match tag:
            case "br" | "hr":
                self._write("\n" if tag == "br" else "\n\n---\n\n")
            case "li":
                number = self._lists[-1] if self._lists else None
                if number is not None:
                    self._lists[-1] = number + 1
                indentation = "  " * (len(self._lists) - 1)
                self._write(f"\n{indentation}{'-' if number is None else f'{number}.'} ")
            case "tr" | "td" | "th":
                self._write("\n|" if tag == "tr" else " ")
            case "pre":
                self._write("\n\n```\n")
                self._preformatted += 1
            case "code" if not self._preformatted:
                self._write("`")
            case "a":
                self._link = _Link(attributes.get("href") or "", len(self._pieces))
            case "img" if attributes.get("alt"):
                self._write(f"[image: {_SPACE.sub(' ', attributes['alt'] or '').strip()}]")
            case _:
                self._open_block(tag)

    def _open_block(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._write(f"\n\n{_HEADINGS[tag]} ")
        elif tag in _BLOCK_TAGS:
            self._write("\n\n")
            # Bounded, because the indentation of each item grows with the depth.
            if tag in {"ul", "ol"} and len(self._lists) < MAX_LIST_DEPTH:
                self._lists.append(1 if tag == "ol" else None)
            if tag == "main":
                self._main_depth += 1
                if self._main_start is None:
                    self._main_start = len(self._pieces)

    def _close(self, tag: str) -> None:
        match tag:
            case "pre" if self._preformatted:
                self._preformatted -= 1
                self._write("\n```\n\n")
            case "code" if not self._preformatted:
                self._write("`")
            case "td" | "th":
                self._write(" |")
            case "a" if self._link is not None:
                self._close_link(self._link)
            case _:
                self._close_block(tag)

    def _close_block(self, tag: str) -> None:
        if tag in _BLOCK_TAGS or tag in _HEADINGS:
            self._write("\n\n")
        if tag in {"ul", "ol"} and self._lists:
            self._lists.pop()
        if tag == "main" and self._main_depth:
            self._main_depth -= 1
            self._main_end = len(self._pieces)

    def _close_link(self, link: _Link) -> None:
        """Replace the link's text by a Markdown link."""
        self._link = None
        if not link.target or link.target.startswith(("#", "javascript:", "data:")):
            return
        link_text = "".join(self._pieces[link.start :]).strip()
        if not link_text or "\n" in link_text:
            return
        del self._pieces[link.start :]
        try:
            target = urljoin(self._base, link.target.strip())
        except ValueError:
            target = link.target
        self._write(f"[{link_text}]({_SPACE.sub('%20', target)})")

    def _write(self, text: str) -> None:
        if text:
            self._pieces.append(text)


def _collapse_blank_lines(text: str) -> str:
    """Return text without the blank lines that empty elements leave."""
    return _GAPS.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()
