/**
 * Which instructions and skills are in force in a folder, as the server's own commands say.
 *
 * Owns what the commands are called and what of their answers is shown. An agent that has no such
 * commands is one of which nothing is known.
 */
import { execFile } from "node:child_process";
import type { ContextEvent, Instruction, SkillInForce } from "../shared/events.js";
import { isRecord } from "../shared/intents.js";
import { childEnvironment } from "./environment.js";
import { messageOf } from "./failures.js";
import type { Launch } from "./locating.js";

const ANSWERING_MILLISECONDS = 15_000;
const MOST_ANSWER_BYTES = 4 * 1024 * 1024;

/** Runs a command line and returns what it prints. */
export type Run = (launch: Launch, words: readonly string[], cwd: string) => Promise<string>;

export const LOADING: ContextEvent = {
  type: "context",
  status: "loading",
  message: "",
  instructions: [],
  skills: [],
};

/** Ask what is in force in a folder. */
export async function reportContext(launch: Launch, cwd: string, run: Run = runOnce): Promise<ContextEvent> {
  try {
    const [context, skills] = await Promise.all([
      run(launch, ["context", "list", "--json", "--cwd", cwd], cwd),
      run(launch, ["skills", "list", "--json", "--cwd", cwd], cwd),
    ]);
    const instructions = instructionsIn(JSON.parse(context));
    return { ...LOADING, status: "known", instructions, skills: skillsIn(JSON.parse(skills)) };
  } catch (error) {
    return { ...LOADING, status: "unknown", message: messageOf(error).split("\n")[0] ?? "" };
  }
}

/** Run the server's program with other words than those that make it serve. */
export function runOnce(launch: Launch, words: readonly string[], cwd: string): Promise<string> {
  const options = {
    cwd,
    env: childEnvironment(process.env, launch.environment),
    timeout: ANSWERING_MILLISECONDS,
    maxBuffer: MOST_ANSWER_BYTES,
    windowsHide: true,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(launch.command, [...launch.program, ...words], options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Error(error.message));
    });
    child.stdin?.end();
  });
}

function instructionsIn(answer: unknown): Instruction[] {
  if (!Array.isArray(answer)) return [];
  return answer.filter(isRecord).map((each) => ({
    path: textAt(each, "path"),
    outcome: textAt(each, "outcome"),
    reason: textAt(each, "reason"),
  }));
}

function skillsIn(answer: unknown): SkillInForce[] {
  const listed = isRecord(answer) ? answer["skills"] : [];
  if (!Array.isArray(listed)) return [];
  return listed
    .filter(isRecord)
    .filter((each) => textAt(each, "hidden") === "")
    .map((each) => ({
      name: textAt(each, "name"),
      description: textAt(each, "description"),
      from: textAt(each, "from"),
    }));
}

function textAt(record: Readonly<Record<string, unknown>>, name: string): string {
  const value = record[name];
  return typeof value === "string" ? value : "";
}
