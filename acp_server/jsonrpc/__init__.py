"""A symmetric JSON-RPC 2.0 peer over lines of bytes. It has never heard of ACP."""
