"""Whether an optional package is installed, without an import."""

from importlib.machinery import PathFinder


def is_package_installed(name: str) -> bool:
    """Return whether a top-level package can be imported; imports nothing.

    `importlib.util.find_spec` would wait for imports of other threads, such as that of the SDK.
    """
    return PathFinder.find_spec(name) is not None
