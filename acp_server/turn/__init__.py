"""The engine: one turn from prompt to stop reason. No ACP, no JSON-RPC, no environment."""
