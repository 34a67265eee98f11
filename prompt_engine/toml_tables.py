"""Loads the tables of facts that are part of this package."""

from functools import cache
from importlib.resources import files


@cache
def read_toml(folder: str, name: str) -> object:
    """Return the content of `NAME.toml` in a folder of the package; `""` is the package itself."""
    import tomllib  # here, because a session opens without any table

    path = files("prompt_engine").joinpath(*folder.split("/"), f"{name}.toml")
    return tomllib.loads(path.read_text("utf-8"))
