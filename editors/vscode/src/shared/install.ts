/** Names of the server's program and package, and the command that installs it. */

export const PROGRAM = "acp-server";
export const PACKAGE = "hermes-acp-server";
export const INSTALL_ARGUMENTS: readonly string[] = ["tool", "install", PACKAGE];
export const INSTALL_COMMAND = `uv ${INSTALL_ARGUMENTS.join(" ")}`;
