/**
 * Active instruction files and skills of a directory, read with the server's own CLI commands.
 *
 * Knows the commands and which parts of their JSON output are shown. If the agent has no such
 * commands, the result has the status `unknown`.
 */
import { execFile } from "node:child_process";
import type { ContextEvent, InstructionFile, ActiveSkill } from "../shared/events.js";
import { isRecord } from "../shared/validation.js";
import { childEnvironment } from "./environment.js";
import { messageOf } from "./errors.js";
import { t } from "../shared/l10n.js";
import type { ServerCommand } from "./serverLocator.js";

/** Several commands may run at once, on a busy machine. */
const TIMEOUT_MILLISECONDS = 60_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Runs the server's program with arguments and returns its standard output. */
export type CommandRunner = (serverCommand: ServerCommand, args: readonly string[], cwd: string) => Promise<string>;

export const LOADING_CONTEXT: ContextEvent = {
  type: "context",
  status: "loading",
  message: "",
  instructions: [],
  skills: [],
};

/** Load the active instruction files and skills of a directory. Never rejects. */
export async function loadContext(serverCommand: ServerCommand, cwd: string, runCommandLine: CommandRunner = runCommand): Promise<ContextEvent> {
  try {
    const [context, skills] = await Promise.all([
      runCommandLine(serverCommand, ["context", "list", "--json", "--cwd", cwd], cwd),
      runCommandLine(serverCommand, ["skills", "list", "--json", "--cwd", cwd], cwd),
    ]);
    const instructions = parseInstructions(JSON.parse(context));
    return { ...LOADING_CONTEXT, status: "known", instructions, skills: parseSkills(JSON.parse(skills)) };
  } catch (error) {
    return { ...LOADING_CONTEXT, status: "unknown", message: messageOf(error).split("\n")[0] ?? "" };
  }
}

/** Run the server's program with the given arguments instead of `serve`.
 *
 * @throws {Error} with what the program has said, or that it took too long.
 */
export function runCommand(serverCommand: ServerCommand, args: readonly string[], cwd: string): Promise<string> {
  const options = {
    cwd,
    env: childEnvironment(process.env, serverCommand.environment),
    timeout: TIMEOUT_MILLISECONDS,
    maxBuffer: MAX_OUTPUT_BYTES,
    windowsHide: true,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(serverCommand.command, [...serverCommand.programArguments, ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (error.killed === true) reject(new Error(t("The command took too long: {0}", args.join(" "))));
      // The message of Node has the whole command line first.
      else reject(new Error(stderr.trim() || error.message));
    });
    child.stdin?.end();
  });
}

function parseInstructions(answer: unknown): InstructionFile[] {
  if (!Array.isArray(answer)) return [];
  return answer.filter(isRecord).map((each) => ({
    path: stringField(each, "path"),
    outcome: stringField(each, "outcome"),
    reason: stringField(each, "reason"),
  }));
}

function parseSkills(answer: unknown): ActiveSkill[] {
  const listed = isRecord(answer) ? answer["skills"] : [];
  if (!Array.isArray(listed)) return [];
  return listed
    .filter(isRecord)
    .filter((each) => stringField(each, "hidden") === "")
    .map((each) => ({
      name: stringField(each, "name"),
      description: stringField(each, "description"),
      from: stringField(each, "from"),
    }));
}

function stringField(record: Readonly<Record<string, unknown>>, name: string): string {
  const value = record[name];
  return typeof value === "string" ? value : "";
}
