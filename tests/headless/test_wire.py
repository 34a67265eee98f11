import json

import pytest

from acp_server.headless.wire import WireLine


def test_a_message_is_written_byte_for_byte() -> None:
    line = '{"id": 1.50, "text":"ü"}'
    assert WireLine("agent", line.encode()).to_json() == f'{{"from":"agent","message":{line}}}'


@pytest.mark.parametrize("line", [b"Loading...", b"{", b'{"x":NaN}', b"\xff", b"[" * 100_000])
def test_a_line_that_is_not_json_becomes_a_string(line: bytes) -> None:
    value = json.loads(WireLine("client", line).to_json())
    assert value == {"from": "client", "message": line.decode("utf-8", "replace")}
