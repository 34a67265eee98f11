"""Our own words, read from the files they are kept in. Knows neither what they say nor when."""

from functools import cache
from importlib.resources import files


@cache
def prose(name: str) -> str:
    """Return the text of `text/NAME.md`, stripped; read once.

    Raises:
        FileNotFoundError: there is no such text.
    """
    path = files("prompt_engine.sections").joinpath("text", *f"{name}.md".split("/"))
    return path.read_text("utf-8").strip()
