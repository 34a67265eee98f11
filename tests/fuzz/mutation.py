"""Mutations of fuzzing inputs. Pure: the same random state gives the same output."""

import random
from collections.abc import Callable, Sequence

MAX_BYTES = 4096
PIECES = (
    *(b"\n", b"\r\n", b"\n\n", b"\0", b"\xff", b"\xef\xbb\xbf", b" ", b"\t", b'"', b"'", b"\\"),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b"(",
        b")",
        b":",
        b",",
        b"---\n",
        b"name: ",
        b"description: ",
        b"|-\n",
    ),
    *(b'"id":', b'"method":', b'"jsonrpc":"2.0"', b"null", b"1e999", b"-0", b"true", b"\\ud800"),
    *(b"*** Begin Patch\n", b"*** Update File: a\n", b"*** End Patch\n", b"@@ ", b"+", b"-"),
    *(b"%%%%", b"$(", b"`", b"&&", b"||", b";", b"|", b">", b"2>&1", b"<(", b"<<", b"${a:-", b"$'"),
    *(b"#", b"cat ", b"ls ", b"\n\xc2\xa7\n", b"\xc2\xa7", b"\xe2\x80\xa8", b"\xc2\xa0", b"\x85"),
)
"""Byte sequences with a special meaning to the code under test."""

Mutation = Callable[[bytearray, random.Random, Sequence[bytes]], None]


def mutate(inputs: Sequence[bytes], chance: random.Random) -> bytes:
    """Return a mutation of one of these inputs."""
    data = bytearray(chance.choice(inputs))
    for _ in range(chance.randint(1, 6)):
        chance.choice(MUTATIONS)(data, chance, inputs)
    return bytes(data[:MAX_BYTES])


def _random_position(data: bytearray, chance: random.Random) -> int:
    return chance.randint(0, len(data))


def _random_span(data: bytearray, chance: random.Random) -> slice:
    start = _random_position(data, chance)
    return slice(start, min(len(data), start + chance.randint(1, 24)))


def _insert_piece(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    position = _random_position(data, chance)
    data[position:position] = chance.choice(PIECES)


def _overwrite(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    data[_random_span(data, chance)] = chance.choice(PIECES)


def _flip(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _delete(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    del data[_random_span(data, chance)]


def _repeat(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    span = data[_random_span(data, chance)]
    position = _random_position(data, chance)
    data[position:position] = span * chance.choice((1, 2, 3, 40))


def _move(data: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    cut = _random_span(data, chance)
    span = data[cut]
    del data[cut]
    position = _random_position(data, chance)
    data[position:position] = span


def _splice(data: bytearray, chance: random.Random, inputs: Sequence[bytes]) -> None:
    other = bytearray(chance.choice(inputs))
    data[_random_position(data, chance) :] = other[_random_position(other, chance) :]


MUTATIONS: Sequence[Mutation] = (
    _insert_piece,
    _insert_piece,
    _overwrite,
    _flip,
    _delete,
    _repeat,
    _move,
    _splice,
)
