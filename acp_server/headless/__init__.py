"""The client's side of ACP, without an editor: starts an agent, speaks to it, watches the wire."""
