"""Hatchling hook: the README as the page of the package, with whole addresses for its links."""

# Hatchling is there only while the package is built.
# pyright: basic
# pyright: reportMissingImports=false

import re
import tomllib
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?!https?:|#)")


class PackagePage(MetadataHookInterface):
    """Fills in `readme`; the address of the repository is that of `editors/publishing.toml`."""

    def update(self, metadata: dict) -> None:
        """Set the text: pictures as files of the repository, other links as its pages."""
        root = Path(self.root)
        publishing = tomllib.loads((root / "editors/publishing.toml").read_text(encoding="utf-8"))

        def address(link: re.Match) -> str:
            view = "raw" if link[1] else "blob"
            return f"{link[1]}{link[2]}{publishing['repository']}/{view}/main/"

        text = (root / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": RELATIVE_LINK.sub(address, text),
        }
