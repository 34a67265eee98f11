"""Our own words to the model, read from the files they are kept in. Knows not when to say them."""

from functools import cache
from importlib.resources import files


@cache
def prose(name: str) -> str:
    """Return the text of `text/NAME.md`, stripped; read once.

    Raises:
        FileNotFoundError: there is no such text.
    """
    return files("skills_store").joinpath("text", f"{name}.md").read_text("utf-8").strip()
