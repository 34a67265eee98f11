"""HTML becomes text that reads well, in time linear in its length."""

import random
import time

import pytest

from acp_server.tools.web.html_to_markdown import HtmlText, convert_html
from tests.support.case_table import each_case

BASE = "https://example.com/docs/page"
READ = {
    "words are apart": ("<p>one\n  two</p><p>three</p>", "one two\n\nthree"),
    "headings": ("<h1>A</h1><h3>B</h3>c", "# A\n\n### B\n\nc"),
    "lists": ("<ul><li>a<li>b<ol><li>c<li>d</ol></ul>", "- a\n- b\n\n  1. c\n  2. d"),
    "a link": ('<a href="../x?y">the  <b>words</b></a>', "[the words](https://example.com/x?y)"),
    "a link to the page itself": ('<a href="#top">up</a>', "up"),
    "a link that would run": ('<a href="javascript:x()">go</a>', "go"),
    "a link within a link": ('<a href="/a">x<a href="/b">y</a>', "x[y](https://example.com/b)"),
    "code": (
        "Run <code>make</code>.<pre><code>a\n  b</code></pre>",
        "Run `make`.\n\n```\na\n  b\n```",
    ),
    "a table": (
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
        "| a | b |\n| 1 | 2 |",
    ),
    "an image": ('<img src="x" alt="a  cat">', "[image: a cat]"),
    "a line's end": ("a<br>b", "a\nb"),
    "scripts and styles": ("a<script>if (a<b) c</script><style>p{}</style>b", "ab"),
    "comments": ("a<!-- no -->b", "ab"),
    "foreign elements": ("a<svg><title>no</title><svg>x</svg></svg>b", "ab"),
    "hidden words stay": ('<p style="display:none" hidden>h</p>', "h"),
    "characters by name": ("&lt;p&gt; &eacute; &#x41;&nbsp;.", "<p> é A ."),
    "tags that close nothing": ("</div></a></pre>a</ul>", "a"),
    "an element of no kind": ("<blink>a</blink>", "a"),
    "a marked section": ("a<![CDATA[b]]>c<![if x]>d<![foo[e]]>", "acd"),
    "a main part that is short": ("<p>a</p><main>b</main>", "a\n\nb"),
    "an ampersand at the end": ("fish & chips &", "fish & chips &"),
}
N = 20_000


def hostile_pages(n: int) -> dict[str, str]:
    """Return pages that are long or deep."""
    return {
        "deep": "<div>" * n,
        "deep and formatted": "<p>"
        + "".join(f"<b a={at}>" for at in range(n // 2))
        + "<p>x" * (n // 2),
        "links that never end": "<a href=x>" * n + "</a>" * n,
        "comments that never end": "<!--" * n,
        "comments that almost end": "<!-- --" * n,
        "tags that never end": "<a " * n,
        "one tag that never ends": "<a " + "b " * n,
        "attributes that never end": "<a b='" * n,
        "attributes of equals": "<a " + "b=" * n,
        "slashes": "<a" + "/" * n,
        "declarations": "<!" * n,
        "sections": "<![" * n,
        "instructions": "<?" * n,
        "closing tags that never end": "</a " * n,
        "references": "&" * n,
        "long references": "&amp" * n,
        "scripts that never end": "<script>" + "</scrip" * n,
        "lists in lists": "<ul><li>" * n,
        "tables": "<table><tr><td>" * n,
        "blanks": " " * n * 5,
        "blanks that are kept": "<pre>" + " " * n * 5,
        "lines": "<pre>" + "\n" * n * 5,
        "less than": "<" * n,
        "a title that never ends": "<title>" + "a" * n * 5,
    }


@each_case(("source", "text"), READ.values(), ids=READ.keys())
def test_html_is_converted(source: str, text: str) -> None:
    assert convert_html(source, BASE) == HtmlText("", text, is_complete=True)


def test_the_title_is_one_line() -> None:
    assert convert_html("<title>A\n  page</title><p>b", BASE) == HtmlText(
        "A page", "b", is_complete=True
    )


def test_only_the_main_part_is_converted() -> None:
    main = "word " * 60
    source = f"<nav>menu</nav><main><p>{main}</p></main><footer>foot</footer>"
    assert convert_html(source, BASE).text == main.strip()


@pytest.mark.parametrize("source", ["a<svg>b", "a<script>b", "a<!-- b"])
def test_a_document_that_ends_early_is_incomplete(source: str) -> None:
    found = convert_html(source, BASE)
    assert (found.text, found.is_complete) == ("a", False)


@each_case("source", hostile_pages(N // 3).values(), ids=hostile_pages(N // 3).keys())
def test_no_page_is_slow_to_convert(source: str) -> None:
    assert seconds_of(source) < 0.5


@pytest.mark.full
@each_case("source", hostile_pages(N).values(), ids=hostile_pages(N).keys())
def test_no_long_page_is_slow_to_convert(source: str) -> None:
    assert seconds_of(source) < 2


def seconds_of(source: str) -> float:
    """Return the processor time that it takes to convert a page."""
    began = time.process_time()
    convert_html(source, BASE)
    return time.process_time() - began


def test_a_page_that_takes_too_long_is_converted_in_part() -> None:
    clock = iter(range(0, 1_000, 2))
    found = convert_html("<p>word</p>" * 60_000, BASE, lambda: float(next(clock)))
    assert not found.is_complete
    assert found.text.startswith("word\n\nword")


def test_no_mixture_of_tags_raises() -> None:
    pieces = ["<", ">", "<!", "<![", "]]>", "<a href='", "</", "<pre>", "<li>", "&", "&#x", "-->"]
    pieces += ["<ul>", "</ul>", "<main>", "</main>", "<script>", "</script>", "'", '"', "x", "\n"]
    pieces += ["<svg/>", "<title>", "</a>", "<!DOCTYPE", "<?", "[if", "\0", "<table>", "<td>"]
    draw = random.Random(4711)  # noqa: S311 - a table of cases, not a secret
    for _ in range(1_000):
        convert_html("".join(draw.choices(pieces, k=draw.randrange(30))), BASE)
