"""Imports pydantic's core without defining the typed dictionaries of its schemas.

There are ninety, for type checkers alone, and each takes 0.15 ms: the annotation of every field
becomes an object. Here they are plain classes, whose instances are dictionaries as before. Imports
nothing else from this project than the rule of `fallback`.
"""

import sys
import typing
from importlib import import_module

import typing_extensions

from acp_server.startup.fallback import FastWayError, fast_or_plain

CORE_PACKAGE = "pydantic_core"
SCHEMA_MODULE = "pydantic_core.core_schema"
NAME = "TypedDict"


class LightTypedDict(dict[str, object]):
    """Stands in for `TypedDict` as a base class; an instance is a dictionary."""

    def __init_subclass__(cls, *, total: bool = True) -> None:
        """Accept the option of a typed dictionary."""
        del total

    def __new__(cls, **items: object) -> dict[str, object]:
        """Return a dictionary of the items."""
        return items


def import_pydantic_core() -> None:
    """Import the package, if nothing has imported it; not while another thread imports anything."""
    if CORE_PACKAGE not in sys.modules:
        fast_or_plain(
            "light typed dictionaries", _import_light, _import_plainly, packages=(CORE_PACKAGE,)
        )


def _import_light() -> None:
    """Import it, and build and use a schema to see that it works."""
    # pydantic_core takes the name from one of them, depending on the version of Python.
    owners = (typing, typing_extensions)
    originals = [owner.__dict__[NAME] for owner in owners]
    for owner in owners:
        owner.__dict__[NAME] = LightTypedDict
    try:
        core = vars(import_module(CORE_PACKAGE))
        schemas = vars(import_module(SCHEMA_MODULE))
    finally:
        for owner, original in zip(owners, originals, strict=True):
            owner.__dict__[NAME] = original
    config = schemas["CoreConfig"](title="a title")
    validate = core["SchemaValidator"](schemas["int_schema"](ge=1), config).validate_python
    if (config, validate("1")) != ({"title": "a title"}, 1):
        raise FastWayError(f"{SCHEMA_MODULE} does not work without its typed dictionaries")


def _import_plainly() -> None:
    import_module(SCHEMA_MODULE)
