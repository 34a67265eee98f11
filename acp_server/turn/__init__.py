"""Turn engine: one prompt in, one stop reason out. Knows no ACP, no JSON-RPC and no environment."""
