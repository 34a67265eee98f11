"""Loads the tables of facts that are part of this package."""

from functools import cache
from pathlib import Path


@cache
def read_toml(folder: str, name: str) -> object:
    """Return the content of `NAME.toml` in a folder of the package; `""` is the package itself."""
    # Neither tomllib nor importlib.resources at the top: a session opens without any table.
    import tomllib

    path = Path(__file__).parent.joinpath(*folder.split("/"), f"{name}.toml")
    return tomllib.loads(path.read_text("utf-8"))
