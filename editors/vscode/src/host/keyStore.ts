/** Passes an API key that the user enters to the server, which stores it. The key is kept nowhere else. */
import { execFile } from "node:child_process";
import { childEnvironment } from "./environment.js";
import type { ServerCommand } from "./serverLocator.js";

const TIMEOUT_MILLISECONDS = 60_000;

/** A provider of models, as `acp-server setup --provider` names it. */
export interface KeyProvider {
  readonly id: string;
  readonly label: string;
}

/** The providers that are offered; all others are in the terminal sign-in. */
export const KEY_PROVIDERS: readonly KeyProvider[] = [
  { id: "anthropic", label: "Anthropic" },
  { id: "openai", label: "OpenAI" },
  { id: "openrouter", label: "OpenRouter" },
  { id: "gemini", label: "Google Gemini" },
];

/** Store a key with the server's `setup` command, which reads it from standard input.
 *
 * @throws if the server cannot store it; the error has the server's reason.
 */
export function storeKey(serverCommand: ServerCommand, providerId: string, key: string): Promise<void> {
  const args = [...serverCommand.programArguments, "setup", "--provider", providerId, "--use"];
  const options = {
    env: childEnvironment(process.env, serverCommand.environment),
    timeout: TIMEOUT_MILLISECONDS,
    windowsHide: true,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(serverCommand.command, args, options, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else {
        const reason = stderr.trim().split("\n").at(-1) ?? "";
        reject(new Error(reason === "" ? error.message : reason));
      }
    });
    child.stdin?.on("error", () => undefined); // the exit code tells more
    child.stdin?.end(`${key}\n`);
  });
}
