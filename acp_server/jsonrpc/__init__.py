"""A symmetric JSON-RPC 2.0 peer over newline-delimited bytes. Independent of ACP."""
