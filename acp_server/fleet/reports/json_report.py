"""JSON report of a fleet, written entry by entry: its size may exceed the memory. Pure."""

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from acp_server.text.json_values import Object


def json_pieces(head: Object, entries: Iterable[JsonValue]) -> Iterator[str]:
    r"""Yield the pieces of one JSON object: the fields of `head`, then `tasks`, one per line.

    >>> "".join(json_pieces({"version": 1}, [{"id": "a"}, {"id": "b"}]))
    '{"version": 1, "tasks": [\n{"id": "a"},\n{"id": "b"}\n]}\n'
    """
    start = json.dumps(head)
    yield f'{start[:-1]}{", " if head else ""}"tasks": ['
    separator = "\n"
    for entry in entries:
        yield f"{separator}{json.dumps(entry)}"
        separator = ",\n"
    yield "\n]}\n"
