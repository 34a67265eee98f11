/**
 * Finds the command that starts the server.
 *
 * Order: the `acpServer.command` setting, then `acp-server` on the PATH or in the usual install
 * directories. Starts and installs nothing: the user decides what is installed.
 */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { PROGRAM } from "../shared/install.js";
import { t } from "../shared/l10n.js";

export interface ServerSettings {
  /** Empty to search for the program. */
  readonly command: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Command line that starts the server. */
export interface ServerCommand {
  readonly command: string;
  /** Arguments that select our program, such as `run --directory /x acp-server`. */
  readonly programArguments: readonly string[];
  /** Arguments from `serve` on. */
  readonly serveArguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** No server program was found. The message tells the user what to do. */
export class ServerMissingError extends Error {}

/** Find the command that starts the server; `exists` tells whether a path is an executable program.
 *
 * @throws {ServerMissingError} if no program was found.
 */
export async function locateServer(
  settings: ServerSettings,
  environment: NodeJS.ProcessEnv,
  exists: (path: string) => Promise<boolean> = isExecutable,
): Promise<ServerCommand> {
  const { environment: added } = settings;
  if (settings.command !== "") {
    const found = await findProgram(settings.command, environment, exists);
    if (found === null) throw new ServerMissingError(commandNotFoundMessage(settings.command));
    return { command: found, ...splitArguments(settings.arguments), environment: added };
  }
  const serveArguments = settings.arguments;
  const installed = await findProgram(PROGRAM, environment, exists);
  if (installed === null) throw new ServerMissingError(NOT_FOUND_MESSAGE);
  return { command: installed, programArguments: [], serveArguments, environment: added };
}

/** Find the program `uv`, which installs the server; null if it is not installed. */
export function locateUv(
  environment: NodeJS.ProcessEnv,
  exists: (path: string) => Promise<boolean> = isExecutable,
): Promise<string | null> {
  return findProgram("uv", environment, exists);
}

const NOT_FOUND_MESSAGE = t("The chat needs the program acp-server, which is installed separately.");

function commandNotFoundMessage(command: string): string {
  return t("The program in the acpServer.command setting was not found: {0}", command);
}

/** Split arguments into those that select the program and those from `serve` on. */
function splitArguments(allArguments: readonly string[]): Pick<ServerCommand, "programArguments" | "serveArguments"> {
  const serveIndex = allArguments.indexOf("serve");
  if (serveIndex < 0) return { programArguments: allArguments, serveArguments: [] };
  return { programArguments: allArguments.slice(0, serveIndex), serveArguments: allArguments.slice(serveIndex) };
}

/** Find a program by its name or path; null if there is none. */
export async function findProgram(
  name: string,
  environment: NodeJS.ProcessEnv,
  exists: (path: string) => Promise<boolean> = isExecutable,
): Promise<string | null> {
  const expanded = /^~[/\\]/.test(name) ? join(homedir(), name.slice(2)) : name;
  const directories = isAbsolute(expanded) ? [""] : searchDirectories(environment);
  for (const directory of directories) {
    for (const suffix of executableSuffixes(environment)) {
      const path = directory === "" ? expanded + suffix : join(directory, expanded + suffix);
      if (await exists(path)) return path;
    }
  }
  return null;
}

/**
 * Return the PATH directories, followed by the usual install directories.
 *
 * An editor started from the desktop often lacks a shell's PATH.
 */
function searchDirectories(environment: NodeJS.ProcessEnv): string[] {
  const onPath = (environment["PATH"] ?? environment["Path"] ?? "").split(delimiter);
  const installerDirectories = [
    join(homedir(), ".local", "bin"),
    join(homedir(), ".cargo", "bin"),
    "/opt/homebrew/bin",
    "/usr/local/bin",
  ];
  return [...onPath.filter((directory) => isAbsolute(directory)), ...installerDirectories];
}

function executableSuffixes(environment: NodeJS.ProcessEnv): string[] {
  if (process.platform !== "win32") return [""];
  return ["", ...(environment["PATHEXT"] ?? ".EXE;.CMD;.BAT").split(";")];
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
