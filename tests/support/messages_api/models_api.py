"""`GET /v1/models` and `GET /v1/models/ID`.

https://platform.claude.com/docs/en/api/models/list
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from tests.support.messages_api.model_specs import EFFORTS, ModelSpec, find_model_spec
from tests.support.messages_api.parsed_request import Object
from tests.support.messages_api.refusals import MessagesApiRefusal

DEFAULT_LIMIT = 20
MAX_LIMIT = 1_000
DEFAULT_LIFECYCLES = ("active", "deprecated")


def get_model(families: Sequence[ModelSpec], name: str) -> Object:
    """Return a model by its id or alias.

    Raises:
        MessagesApiRefusal: No model has this name.
    """
    family = find_model_spec(name, families)
    if family is None:
        raise MessagesApiRefusal(f"model: {name}", 404, "not_found_error")
    return model_info(family)


def list_models(
    families: Sequence[ModelSpec],
    query: Mapping[str, Sequence[str]],
    *,
    has_capabilities: bool = True,
) -> Object:
    """Return a page of the model list, with or without what each model can do.

    Raises:
        MessagesApiRefusal: The limit or a cursor is invalid.
    """
    lifecycles = query.get("lifecycle", query.get("lifecycle[]", DEFAULT_LIFECYCLES))
    listed = [family for family in families if family.lifecycle in lifecycles]
    limit = _limit(query)
    after, before = _cursor(listed, query, "after_id"), _cursor(listed, query, "before_id")
    if before is not None:
        start, end, has_more = max(0, before - limit), before, before > limit
    else:
        start = 0 if after is None else after + 1
        end, has_more = start + limit, start + limit < len(listed)
    page = listed[start:end]
    return {
        "data": [model_info(family, has_capabilities=has_capabilities) for family in page],
        "has_more": has_more,
        "first_id": page[0].id if page else None,
        "last_id": page[-1].id if page else None,
    }


def _limit(query: Mapping[str, Sequence[str]]) -> int:
    text = query.get("limit", [str(DEFAULT_LIMIT)])[0]
    if not text.isdecimal():
        raise MessagesApiRefusal("limit: Input should be a valid integer")
    if int(text) < 1:
        raise MessagesApiRefusal("limit: Input should be greater than or equal to 1")
    if int(text) > MAX_LIMIT:
        raise MessagesApiRefusal("limit: Input should be less than or equal to 1000")
    return int(text)


def _cursor(
    listed: Sequence[ModelSpec], query: Mapping[str, Sequence[str]], name: str
) -> int | None:
    wanted = query.get(name, [None])[0]
    if wanted is None:
        return None
    index = next((i for i, family in enumerate(listed) if family.has_name(wanted)), None)
    if index is None:
        raise MessagesApiRefusal(f"{name}: no model has the id {wanted}")
    return index


def model_info(family: ModelSpec, *, has_capabilities: bool = True) -> Object:
    """Return the API's description of a model."""
    return {
        "type": "model",
        "id": family.id,
        "display_name": family.display_name,
        "created_at": f"{family.released_on}T00:00:00Z",
        "line": family.line,
        "lifecycle": family.lifecycle,
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": family.window_tokens,
        "max_tokens": family.output_limit_tokens,
        "capabilities": _capabilities(family) if has_capabilities else None,
    }


def _capabilities(family: ModelSpec) -> Object:
    yes, no = _supported(is_supported=True), _supported(is_supported=False)
    return {
        "batch": yes,
        "citations": yes,
        "code_execution": no,
        "context_management": {"supported": False},
        "effort": {"supported": bool(family.efforts), **_efforts(family)},
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {"supported": False, "web_search": no, "code_execution": no},
        "structured_outputs": yes,
        "thinking": {"supported": True, "types": _thinking_types(family)},
    }


def _efforts(family: ModelSpec) -> Object:
    return {level: _supported(is_supported=level in family.efforts) for level in EFFORTS}


def _thinking_types(family: ModelSpec) -> Object:
    names = ("adaptive", "between_tools", "disabled", "enabled")
    return {name: _supported(is_supported=name in family.thinking_types) for name in names}


def _supported(*, is_supported: bool) -> JsonValue:
    return {"supported": is_supported}
