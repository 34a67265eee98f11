/** Steps of the first run that ask the user: installing the server, entering an API key, signing in. Loaded when the user takes one. */
import type { AuthMethod } from "@agentclientprotocol/sdk";
import { INSTALL_ARGUMENTS } from "../shared/install.js";
import type { HostServices } from "./hostServices.js";
import { KEY_PROVIDERS, storeKey } from "./keyStore.js";
import type { EditorWindow } from "./ports.js";
import type { ServerCommand } from "./serverLocator.js";
import { t } from "../shared/l10n.js";

/** What a sign-in in a terminal needs. */
export interface TerminalSignIn {
  readonly serverCommand: ServerCommand;
  readonly cwd: string;
  readonly editorWindow: EditorWindow;
}

const UV_PAGE = "https://docs.astral.sh/uv/getting-started/installation/";

/** Ask for an API key and pass it to the server, which stores it; return whether it did. */
export async function enterKey(serverCommand: ServerCommand, services: Pick<HostServices, "editorWindow" | "storeKey">): Promise<boolean> {
  const { editorWindow } = services;
  const label = await editorWindow.pick(t("Whose API key do you have?"), KEY_PROVIDERS.map((each) => each.label));
  const provider = KEY_PROVIDERS.find((each) => each.label === label);
  if (provider === undefined) return false;
  const prompt = t("The server stores it on this machine and sends it only to {0}.", provider.label);
  const key = (await editorWindow.askSecret(t("{0} API Key", provider.label), prompt))?.trim() ?? "";
  if (key === "") return false;
  await (services.storeKey ?? storeKey)(serverCommand, provider.id, key);
  return true;
}

/** Install the server with uv in a terminal; return whether it is installed. Without uv, offer the page that tells how to get it. */
export async function installServer(services: Pick<HostServices, "editorWindow" | "locateUv">): Promise<boolean> {
  const { editorWindow } = services;
  const uv = await services.locateUv();
  if (uv === null) {
    const action = t("How to Install uv");
    const chosen = await editorWindow.showWarning(t("uv was not found. Install uv first, then try again."), [action]);
    if (chosen === action) await editorWindow.openExternal(UV_PAGE);
    return false;
  }
  const exitCode = await editorWindow.runInTerminal(t("Install acp-server"), {
    command: uv,
    arguments: INSTALL_ARGUMENTS,
    environment: {},
    cwd: editorWindow.folders[0] ?? "",
  });
  if (exitCode !== 0) await editorWindow.showWarning(t("The server was not installed. The terminal shows why."), []);
  return exitCode === 0;
}

/** Run the agent's own program with a method's arguments in a visible terminal; return whether the user has signed in. */
export async function signInInTerminal(
  authMethod: Extract<AuthMethod, { type: "terminal" }>,
  { serverCommand, cwd, editorWindow }: TerminalSignIn,
): Promise<boolean> {
  const exitCode = await editorWindow.runInTerminal(authMethod.name, {
    command: serverCommand.command,
    arguments: [...serverCommand.programArguments, ...(authMethod.args ?? [])],
    environment: { ...serverCommand.environment, ...authMethod.env },
    cwd,
  });
  return exitCode === 0;
}
