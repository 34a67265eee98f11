"""Relative links of the documentation lead to files and headings that exist."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import ROOT

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


def pages() -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # Prompts and skills speak to the model: their examples need not exist.
    others = ("tests/", "skills_store/", "prompt_engine/", "acp_server/", "editors/vscode/")
    names = (name for name in listed.stdout.split() if not name.startswith(others))
    yield from (ROOT / name for name in names)


def anchors(page: Path) -> set[str]:
    titles = HEADING.findall(FENCED.sub("", page.read_text("utf-8")))
    return {NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-") for title in titles}


def is_broken(link: str, page: Path) -> bool:
    if link.startswith(("https://", "http://", "mailto:")):
        return False
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".md" and anchor not in anchors(target)


def test_every_relative_link_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages()
        for link in LINK.findall(FENCED.sub("", page.read_text("utf-8")))
        if is_broken(link, page)
    ]
    assert broken == []
