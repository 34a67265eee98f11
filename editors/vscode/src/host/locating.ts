/**
 * Where the server is.
 *
 * Owns the order: the setting, the PATH and the places where installers put programs, `uvx`. Refuses
 * to start anything.
 */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

export const PROGRAM = "acp-server";
export const PACKAGE = "hermes-acp-server";

export interface ServerSettings {
  /** Empty: look for it. */
  readonly command: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** A way to start the server. */
export interface Launch {
  readonly command: string;
  /** What makes the command our program, such as `--from hermes-acp-server acp-server`. */
  readonly program: readonly string[];
  /** What the program is started with to serve. */
  readonly serving: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** There is no server to start. The message says what to do. */
export class ServerMissingError extends Error {}

/** Return how to start the server; `exists` says whether there is a program at a path.
 *
 * @throws {ServerMissingError} nothing of what was looked for is there.
 */
export async function locate(
  settings: ServerSettings,
  environment: NodeJS.ProcessEnv,
  exists: (path: string) => Promise<boolean> = isProgram,
): Promise<Launch> {
  const { environment: added } = settings;
  if (settings.command !== "") {
    const found = await find(settings.command, environment, exists);
    if (found === null) throw new ServerMissingError(notThere(settings.command));
    return { command: found, ...split(settings.arguments), environment: added };
  }
  const serving = settings.arguments;
  const own = await find(PROGRAM, environment, exists);
  if (own !== null) return { command: own, program: [], serving, environment: added };
  const uvx = await find("uvx", environment, exists);
  if (uvx === null) throw new ServerMissingError(NOWHERE);
  const program = ["--from", PACKAGE, PROGRAM];
  return { command: uvx, program, serving, environment: added };
}

const NOWHERE =
  `${PROGRAM} was not found. Install uv and run: uv tool install ${PACKAGE}. Or set the path of ` +
  "the program in the settings.";

function notThere(command: string): string {
  return `The program of the setting acpServer.command was not found: ${command}`;
}

/** Return arguments as those that name the program and those that make it serve. */
function split(given: readonly string[]): Pick<Launch, "program" | "serving"> {
  const serve = given.indexOf("serve");
  if (serve < 0) return { program: given, serving: [] };
  return { program: given.slice(0, serve), serving: given.slice(serve) };
}

async function find(
  name: string,
  environment: NodeJS.ProcessEnv,
  exists: (path: string) => Promise<boolean>,
): Promise<string | null> {
  const expanded = name.startsWith("~/") ? join(homedir(), name.slice(2)) : name;
  const folders = isAbsolute(expanded) ? [""] : foldersOf(environment);
  for (const folder of folders) {
    for (const ending of endingsOf(environment)) {
      const path = folder === "" ? expanded + ending : join(folder, expanded + ending);
      if (await exists(path)) return path;
    }
  }
  return null;
}

/** An editor started from the desktop often lacks what a shell's PATH has. */
function foldersOf(environment: NodeJS.ProcessEnv): string[] {
  const listed = (environment["PATH"] ?? environment["Path"] ?? "").split(delimiter);
  const usual = [
    join(homedir(), ".local", "bin"),
    join(homedir(), ".cargo", "bin"),
    "/opt/homebrew/bin",
    "/usr/local/bin",
  ];
  return [...listed.filter((folder) => isAbsolute(folder)), ...usual];
}

function endingsOf(environment: NodeJS.ProcessEnv): string[] {
  if (process.platform !== "win32") return [""];
  return ["", ...(environment["PATHEXT"] ?? ".EXE;.CMD;.BAT").split(";")];
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
