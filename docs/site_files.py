"""MkDocs hook: puts the repository's pages, and the files they link to, into the site.

Every file keeps its path, so a link holds in the repository, on the package's page and in the site.
"""

# MkDocs is in a dependency group that is not installed by default.
# pyright: basic
# pyright: reportMissingImports=false

import logging
import re
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/*.md",
    "editors/README.md",
    "editors/*/README.md",
    "editors/ci/*/README.md",
)
logger = logging.getLogger("mkdocs.hooks")
LINK = re.compile(r"\]\(([^)\s#]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, then each file of the repository that one of them links to."""
    pages = sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})
    linked = sorted({target for page in pages for target in _linked_files(page)} - set(pages))
    for path in [*pages, *linked]:
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Warn of a list that only MkDocs takes for a paragraph, for want of a blank line."""
    shown = MarkdownIt().enable("table").render(page.markdown or "")
    if shown.count("<li>") != html.count("<li>"):
        logger.warning("%s: put a blank line before each list", page.file.src_uri)
    return html


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """Warn of a script, style or picture of another host."""
    loaded = LoadedUrls()
    loaded.feed(output)
    for url in loaded.urls:
        if "//" in url:
            logger.warning("%s loads %s", page.file.src_uri, url)
    return output


class LoadedUrls(HTMLParser):
    """Collects the URLs that a browser loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag loads; a link that is only followed counts for nothing."""
        if ("rel", "canonical") in attrs:
            return
        name = "href" if tag == "link" else "src"
        self.urls += [value for key, value in attrs if key == name and value]


def _linked_files(page: Path) -> list[Path]:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    targets = [(page.parent / link).resolve() for link in links if "://" not in link]
    return [target for target in targets if target.is_file() and target.is_relative_to(ROOT)]
