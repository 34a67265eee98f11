"""The pages are in plain English: words that read as if translated do not come back."""

import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from tests.architecture.test_links import pages
from tests.architecture.test_vocabulary import ROOT

AVOIDED = re.compile(
    r"\b(?:whoever|nobody|somebody|whom|anew|mend(?:s|ed|ing)?|borne|strangers?|by now"
    r"|(?:is|are) to be|of ours)\b",
    re.IGNORECASE,
)


def prose(page: Path) -> Iterator[str]:
    """Yield the texts of a page, without code."""
    parser = MarkdownIt("commonmark").enable("table")
    for block in parser.parse(page.read_text(encoding="utf-8")):
        yield from (each.content for each in block.children or () if each.type == "text")


def test_no_page_has_a_word_that_readers_stumble_over() -> None:
    found = [
        f"{page.relative_to(ROOT)}: {text}"
        for page in pages()
        for text in prose(page)
        if AVOIDED.search(text)
    ]
    assert found == []
