"""Loads the built-in prompt texts from files."""

from functools import cache
from importlib.resources import files


@cache
def load_text(name: str) -> str:
    """Return the text of `text/NAME.md`, stripped and cached.

    Raises:
        FileNotFoundError: no such text exists.
    """
    path = files("prompt_engine.sections").joinpath("text", *f"{name}.md".split("/"))
    return path.read_text("utf-8").strip()
