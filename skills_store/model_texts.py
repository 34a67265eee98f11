"""Texts for the model, read from the `text/` directory."""

from functools import cache
from importlib.resources import files


@cache
def load_model_text(name: str) -> str:
    """Return the text of `text/NAME.md`, stripped and cached.

    Raises:
        FileNotFoundError: There is no such text.
    """
    return files("skills_store").joinpath("text", f"{name}.md").read_text("utf-8").strip()
