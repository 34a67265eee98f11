/**
 * Signs in with one of the agent's authentication methods.
 *
 * The user types keys into a terminal, or the agent already stores them: this code never sees a key.
 */
import { methods, type AuthMethod, type ClientContext } from "@agentclientprotocol/sdk";
import { messageOf } from "./errors.js";
import type { TerminalSignIn } from "./firstRun.js";
import { t } from "../shared/l10n.js";

export interface SignInContext extends TerminalSignIn {
  readonly agent: ClientContext;
  readonly authMethods: readonly AuthMethod[];
}

export type SignInResult =
  | { readonly isDone: true; readonly needsRestart: boolean }
  | { readonly isDone: false; readonly message: string };

/** Sign in with the method of this id. */
export async function signIn(methodId: string, context: SignInContext): Promise<SignInResult> {
  const authMethod = context.authMethods.find((each) => each.id === methodId);
  if (authMethod === undefined) return { isDone: false, message: t("Unknown sign-in method.") };
  if ("type" in authMethod) {
    const { signInInTerminal } = await import("./firstRun.js");
    if (await signInInTerminal(authMethod, context)) return { isDone: true, needsRestart: true };
    return { isDone: false, message: t("Sign-in was not completed.") };
  }
  try {
    await context.agent.request(methods.agent.authenticate, { methodId: authMethod.id });
    return { isDone: true, needsRestart: false };
  } catch (error) {
    return { isDone: false, message: messageOf(error) };
  }
}
