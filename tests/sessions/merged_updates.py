"""Merging of session updates into a conversation, as clients do it."""

from collections.abc import Sequence

from pydantic import JsonValue

from tests.support.editor import Object, json_at

CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
CALLS = ("tool_call", "tool_call_update")
COMPACTIONS = ("compaction_update", "compaction_summary_chunk")


def merge_updates(updates: Sequence[JsonValue]) -> list[Object]:
    """Return the conversation: messages, calls and compactions merged by id, and the latest plan.

    The last value of each field of a call wins; terminal output is concatenated.
    """
    found: dict[str, Object] = {}
    for update in updates:
        assert isinstance(update, dict)
        kind = json_at(update, "sessionUpdate")
        if kind in CHUNKS:
            _add_chunk(found, update)
        elif kind in CALLS:
            _add_call(found, update)
        elif kind in COMPACTIONS:
            _add_compaction(found, update)
        elif kind == "plan":
            found.pop("plan", None)
            found["plan"] = {"is": "plan", "entries": update["entries"]}
    return list(found.values())


def _add_chunk(found: dict[str, Object], update: Object) -> None:
    key = f"{update['sessionUpdate']} {update.get('messageId')}"
    message = found.setdefault(
        key, {"is": update["sessionUpdate"], "id": update.get("messageId"), "text": ""}
    )
    content = json_at(update, "content")
    assert isinstance(content, dict)
    message["text"] = f"{message['text']}{content.get('text', content)}"


def _add_compaction(found: dict[str, Object], update: Object) -> None:
    compaction_id = str(update["compactionId"])
    compaction = found.setdefault(compaction_id, {"is": "compaction", "text": ""})
    if "content" in update:
        compaction["text"] = f"{compaction['text']}{json_at(update, 'content', 'text')}"
    else:
        compaction |= {name: value for name, value in update.items() if name != "sessionUpdate"}


def _add_call(found: dict[str, Object], update: Object) -> None:
    call_id = str(update["toolCallId"])
    call = found.setdefault(call_id, {"is": "call"})
    meta = update.get("_meta")
    for name, value in update.items():
        if name not in {"sessionUpdate", "_meta"} and value is not None:
            call[name] = value
    if isinstance(meta, dict) and "terminal_output" in meta:
        call["printed"] = f"{call.get('printed', '')}{json_at(meta, 'terminal_output', 'data')}"
    elif isinstance(meta, dict):
        call.update({name: value for name, value in meta.items() if name != "terminal_info"})
