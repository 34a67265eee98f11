"""Lists of words in TOML files next to the modules that use them."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast


def read_word_lists(module_file: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lists of a module's TOML file by key; a list is a text, split at white space."""
    text = Path(module_file).with_suffix(".toml").read_text("utf-8")
    texts = cast("Mapping[str, str]", tomllib.loads(text))
    return {key: tuple(words.split()) for key, words in texts.items()}
