/**
 * The way in: what is done when the user signs in.
 *
 * Owns both kinds of ways. Keys are typed into a terminal or kept by the agent; none passes here.
 */
import { methods, type AuthMethod, type ClientContext } from "@agentclientprotocol/sdk";
import { messageOf } from "./failures.js";
import type { Launch } from "./locating.js";
import type { Desk } from "./ports.js";

export interface SigningIn {
  readonly agent: ClientContext;
  readonly ways: readonly AuthMethod[];
  readonly launch: Launch;
  readonly cwd: string;
  readonly desk: Desk;
}

export type SignInResult =
  | { readonly isDone: true; readonly needsRestart: boolean }
  | { readonly isDone: false; readonly message: string };

/** Sign in, in the way with this id; say how it went. */
export async function signIn(wayId: string, parts: SigningIn): Promise<SignInResult> {
  const way = parts.ways.find((each) => each.id === wayId);
  if (way === undefined) return { isDone: false, message: "There is no such way to sign in." };
  if ("type" in way) return inTerminal(way, parts);
  try {
    await parts.agent.request(methods.agent.authenticate, { methodId: way.id });
    return { isDone: true, needsRestart: false };
  } catch (error) {
    return { isDone: false, message: messageOf(error) };
  }
}

/** Run the agent's own program with the words of the way, where the user can type. */
async function inTerminal(
  way: Extract<AuthMethod, { type: "terminal" }>,
  { launch, cwd, desk }: SigningIn,
): Promise<SignInResult> {
  const exitCode = await desk.runInTerminal(way.name, {
    command: launch.command,
    arguments: [...launch.program, ...(way.args ?? [])],
    environment: { ...launch.environment, ...way.env },
    cwd,
  });
  if (exitCode === 0) return { isDone: true, needsRestart: true };
  return { isDone: false, message: "Signing in was not finished." };
}
