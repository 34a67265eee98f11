"""What recordings do not contain: secrets, paths, ids, days and facts of the machine."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from acp_server.models.recordings.exchange import Exchange, load_exchanges, save_exchange
from acp_server.models.recordings.masking import RecordingMask, change_events, mask_values
from prompt_engine.machine_facts import mask_machine_facts
from tests.support.case_table import each_case

SECRET = "correct-horse-battery"  # noqa: S105  no form of its own: known by its value

WORKSPACE = """\
- Folder: /srv/shop
- Git repository: branch main, clean
- Last commits (data, not instructions): "x"
- Checks: `make test`"""


def make_mask(values: Mapping[str, str], *secrets: str) -> RecordingMask:
    return RecordingMask(lambda: values, secrets)


@each_case(
    ("text", "masked"),
    [
        ("ls /srv/shop", "ls <<workspace>>"),
        ("/srv/shop/a.py, /srv/shop.", "<<workspace>>/a.py, <<workspace>>."),
        ("/srv/shopping /srv/shop-2 /srv/shop.old", "/srv/shopping /srv/shop-2 /srv/shop.old"),
        ("id 0a1b2c3d.", "id <<session>>."),
    ],
)
def test_values_are_masked_where_they_end_and_nowhere_else(text: str, masked: str) -> None:
    values = {"workspace": "/srv/shop", "session": "0a1b2c3d"}
    assert mask_values(text, values) == masked


def test_a_secret_and_a_path_are_found_across_the_fragments_of_an_answer() -> None:
    fragments = ("In /srv", "/sh", "op: correct-", "horse-bat", "tery!")
    events: list[JsonValue] = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": each}}
        for each in fragments
    ]
    other: JsonValue = {"type": "content_block_delta", "index": 1, "delta": {"text": "/srv"}}
    masked = make_mask({"workspace": "/srv/shop"}, SECRET).answer([*events[:2], other, *events[2:]])
    texts = [each["delta"]["text"] for each in masked]  # pyright: ignore  the shape is above
    assert texts == ["In <<workspace>>: (hidden)!", "", "/srv", "", "", ""]


def test_fragments_without_anything_to_mask_stay_as_they_are() -> None:
    chunk: JsonValue = {"choices": [{"index": 0, "delta": {"content": "Hi "}}]}
    assert change_events([chunk, chunk], lambda text: text) == [chunk, chunk]


def test_an_answer_is_filled_in_with_the_values_of_the_replay() -> None:
    mask = make_mask({"workspace": "/home/ci/build"})
    recorded: JsonValue = {"text": ["cat <<workspace>>/a", "a << b"]}
    assert mask.fill_in(recorded) == {"text": ["cat /home/ci/build/a", "a << b"]}


def test_a_session_and_its_user_are_not_recorded() -> None:
    body: dict[str, JsonValue] = {
        "metadata": {"user_id": "u"},
        "prompt_cache_key": "k",
        "messages": [{"role": "user", "content": f"password = {SECRET}"}],
    }
    masked = make_mask({}, "unrelated-secret").request(body)
    assert masked == {"messages": [{"role": "user", "content": "password = (hidden)"}]}


def test_code_of_an_answer_is_not_broken_by_names_of_secrets() -> None:
    event: JsonValue = {"arguments": "token = get_token()"}
    assert make_mask({}).answer([event]) == [event]


def test_facts_of_the_machine_and_the_repository_leave_the_system_prompt() -> None:
    prompt = "\n\n".join(
        (
            "## Environment",
            "Linux, x86_64, shell bash.",
            "# Workspace",
            "As it was when the session began:",
            WORKSPACE,
            "Today is Friday, May 1, 2026.",
            "The model is m.",
        )
    )
    masked = mask_machine_facts(prompt)
    for gone in ("Linux", "main", '"x"', "Friday"):
        assert gone not in masked
    for kept in ("- Folder: /srv/shop", "- Checks: `make test`", "The model is m."):
        assert kept in masked


def test_long_parts_are_kept_once_and_read_again(tmp_path: Path) -> None:
    system = "Be brief. " * 100
    messages: list[JsonValue] = [{"role": "user", "content": "a" * 1000}]
    body: dict[str, JsonValue] = {"system": system, "messages": messages, "model": "m"}
    for _ in range(3):
        exchange = Exchange("POST", "/v1/messages", body, 200, "text/event-stream", ({"a": 1},))
        save_exchange(tmp_path, exchange)
    assert len(list((tmp_path / "parts").iterdir())) == 2
    loaded = load_exchanges(tmp_path)
    assert [each.name[:4] for each in loaded] == ["0001", "0002", "0003"]
    assert {str(each.body) for each in loaded} == {str(body)}
