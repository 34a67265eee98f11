/** Error messages for users, and classification of errors. */
import { isRecord } from "../shared/validation.js";

/** ACP error code: the user must authenticate first. */
export const AUTH_REQUIRED = -32000;

/** Return an error's message. The cause in `data` of an agent's error takes precedence over its title. */
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

/** Whether a file-system error means that the path does not exist. */
export function isNotFound(error: unknown): boolean {
  return isRecord(error) && (error["code"] === "ENOENT" || error["code"] === "ENOTDIR");
}
