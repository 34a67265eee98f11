"""Lazy import of the work that a server does once it is ready."""

from anyio import to_thread

from acp_server.startup.allocator import return_free_memory
from acp_server.startup.code_store import CodeStore


async def write_code_store_in_thread(code_store: CodeStore) -> None:
    """Write the code that the next start needs, if it is not stored; then close the store."""
    if code_store.may_write:
        await to_thread.run_sync(_write_code_store, code_store)
    else:
        code_store.close()
    # Nearly all imports are done: from now on the free memory between their objects is not needed.
    await to_thread.run_sync(return_free_memory)


def _write_code_store(code_store: CodeStore) -> None:
    from acp_server.startup.code_store_writer import write_code_store

    write_code_store(code_store)
