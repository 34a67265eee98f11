"""What a client declares is read as the protocol's model of it would read it."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from acp_server.handlers.client_connection import ClientConnection
from acp_server.jsonrpc.memory import create_memory_pair
from acp_server.protocol.initialize_request import ClientCapabilities, InitializeRequest

WRONG: st.SearchStrategy[JsonValue] = st.sampled_from([None, 1, "yes", [], {"_meta": 2}, {}, True])


def objects(**members: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    """Return objects with some of these members, each right or wrong, or something else."""
    whole = st.fixed_dictionaries(
        {}, optional={name: each | WRONG for name, each in members.items()}
    )
    return whole.map(dict[str, JsonValue]) | WRONG


FLAG = st.booleans()
EMPTY = objects()
DECLARED = objects(
    fs=objects(readTextFile=FLAG, writeTextFile=FLAG),
    terminal=FLAG,
    session=objects(compaction=EMPTY, notices=EMPTY, configOptions=objects(boolean=EMPTY)),
    elicitation=objects(form=EMPTY, url=EMPTY),
    plan=EMPTY,
    subagents=EMPTY,
    _meta=objects(terminal_output=FLAG, hermes=objects(symbols=EMPTY)),
)
INFO = objects(name=st.just("an editor"), version=st.just("1"), title=st.just("Editor"))


def features(capabilities: ClientCapabilities) -> dict[str, bool]:
    """Return what the model says of each feature."""
    session, forms, meta = capabilities.session, capabilities.elicitation, capabilities.meta or {}
    switches = session and session.config_options
    hermes = meta.get("hermes")
    return {
        "reads_files": capabilities.fs.read_text_file,
        "writes_files": capabilities.fs.write_text_file,
        "runs_commands": capabilities.terminal,
        "shows_notices": bool(session and session.notices),
        "shows_compactions": bool(session and session.compaction),
        "shows_switches": bool(switches and switches.boolean),
        "shows_plans_by_id": capabilities.plan is not None,
        "shows_child_sessions": capabilities.subagents is not None,
        "shows_forms": bool(forms and forms.form),
        "shows_pages": bool(forms and forms.url),
        "shows_terminal_output": meta.get("terminal_output") is True,
        "answers_symbols": isinstance(hermes, dict) and isinstance(hermes.get("symbols"), dict),
    }


@given(DECLARED, INFO)
def test_a_client_is_read_as_by_the_model(declared: JsonValue, info: JsonValue) -> None:
    params: JsonValue = {"protocolVersion": 1, "clientCapabilities": declared, "clientInfo": info}
    connection = ClientConnection.from_transport(create_memory_pair()[0])
    connection.record(params)
    request = InitializeRequest.from_wire(params)
    expected = features(request.client_capabilities)
    assert {name: getattr(connection, name) for name in expected} == expected
    assert connection.client_name == (request.client_info.name if request.client_info else "")
