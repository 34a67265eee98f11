"""ACP client without an editor: starts an agent, talks to it, records the messages."""
