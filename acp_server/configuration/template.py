"""The config.yaml that a person begins with: every setting, commented out, with its meaning.

Follows from the table.
"""

import json
from collections.abc import Iterator
from itertools import groupby

from pydantic_core import to_jsonable_python

from acp_server.configuration.table import Settings, Source, sources

SCHEMA_FILE = "config.schema.json"
"""Stands beside the file, so that editors complete what this version knows."""
HEAD = f"""\
# yaml-language-server: $schema=./{SCHEMA_FILE}
#
# Settings of acp-server, with their defaults: take the "# " off what you change, and off what it
# stands below. `acp-server config check` says what is wrong, `config show` what holds and why.
# Keys do not belong here: `acp-server setup` stores one.
"""


def template() -> str:
    """Return the text of a new file."""
    keyed = sorted(_placed(), key=lambda each: each[0])
    sections = groupby(keyed, key=lambda each: each[0][:-1])
    return "\n".join([HEAD, *("\n".join(_section(above, list(own))) for above, own in sections)])


def _placed() -> Iterator[tuple[tuple[str, ...], Source, str]]:
    """Return where each setting stands, what it is, and its default as YAML."""
    for name, source in sources().items():
        if source.key:
            default: object = to_jsonable_python(Settings.model_fields[name].default)
            shown = "" if default is None else f" {json.dumps(default)}"
            yield tuple(source.key.split(".")), source, shown


def _section(
    above: tuple[str, ...], entries: list[tuple[tuple[str, ...], Source, str]]
) -> Iterator[str]:
    """Return the commented lines of the settings that stand below the same key."""
    for depth, part in enumerate(above):
        yield f"# {'  ' * depth}{part}:"
    indent = "  " * len(above)
    for parts, source, default in entries:
        yield f"# {indent}# {source.meaning}"
        yield f"# {indent}{parts[-1]}:{default}"
    yield ""
