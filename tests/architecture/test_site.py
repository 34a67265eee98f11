"""The site has every page of the documentation, and no page twice."""

from collections import Counter
from collections.abc import Iterator
from typing import cast

import yaml

from tests.architecture.test_links import pages
from tests.architecture.test_vocabulary import ROOT

Navigation = list["str | dict[str, str | Navigation]"]

FOR_AGENTS = "AGENTS.md"


def listed(navigation: "Navigation") -> Iterator[str]:
    """Yield the files of a navigation, in its order."""
    for entry in navigation:
        titled = {"": entry} if isinstance(entry, str) else entry
        for target in titled.values():
            yield from [target] if isinstance(target, str) else listed(target)


def test_the_navigation_lists_every_page_once() -> None:
    # BaseLoader keeps MkDocs' own tags as plain text.
    document = yaml.load((ROOT / "docs/mkdocs.yml").read_text("utf-8"), yaml.BaseLoader)  # noqa: S506
    navigation = Counter(listed(cast("Navigation", document["nav"])))
    expected = {page.relative_to(ROOT).as_posix() for page in pages()} - {FOR_AGENTS}
    expected |= {"editors/vscode/README.md", "editors/vscode/docs/features.md"}
    expected -= {name for name in expected if name.startswith(".github/")}
    assert navigation == Counter(expected)
