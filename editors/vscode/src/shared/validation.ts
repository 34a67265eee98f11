/** Checks of untrusted values, used for messages in both directions between host and view. */

export type FieldCheck = (value: unknown) => boolean;

/** Whether a value is a plain object (not null, not an array). */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const isText: FieldCheck = (value) => typeof value === "string";
export const isNumber: FieldCheck = (value) => typeof value === "number" && Number.isFinite(value);
export const isFlag: FieldCheck = (value) => typeof value === "boolean";

export function isOneOf(...values: readonly string[]): FieldCheck {
  return (value) => typeof value === "string" && values.includes(value);
}

export function isListOf(item: FieldCheck): FieldCheck {
  return (value) => Array.isArray(value) && value.every(item);
}

/** Whether a value is null or passes a check. */
export function isNullOr(check: FieldCheck): FieldCheck {
  return (value) => value === null || check(value);
}

/** Whether a value is a plain object whose named fields pass their checks; other fields are allowed. */
export function hasShape(fields: Readonly<Record<string, FieldCheck>>): FieldCheck {
  return (value) => isRecord(value) && Object.entries(fields).every(([name, check]) => check(value[name]));
}

/** What a prompt refers to; both directions carry it. */
export const isMention = hasShape({
  kind: isOneOf("file", "folder", "symbol", "problems", "terminal"),
  path: isText,
  firstLine: isNumber,
  lastLine: isNumber,
});
