/**
 * Failures in one sentence.
 *
 * Owns how an error of the wire, of the system or of ours is said to the user.
 */
import { isRecord } from "../shared/intents.js";

/** The agent wants the user to sign in. */
export const AUTH_REQUIRED = -32000;

/** Return what an error says; the cause that an agent puts into `data` counts before its title. */
export function messageOf(error: unknown): string {
  if (isRecord(error)) {
    const data = error["data"];
    const cause = isRecord(data) ? (data["message"] ?? data["details"]) : data;
    if (typeof cause === "string" && cause !== "") return cause;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Whether an error is the agent's request to sign in. */
export function isAuthRequired(error: unknown): boolean {
  return isRecord(error) && error["code"] === AUTH_REQUIRED;
}

/** Whether an error of the file system says that something is not there. */
export function isMissing(error: unknown): boolean {
  return isRecord(error) && (error["code"] === "ENOENT" || error["code"] === "ENOTDIR");
}
