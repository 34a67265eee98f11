/** Formatting of ages, token counts, costs and paths. */
import { t } from "../shared/l10n.js";

const MINUTE = 60_000;

/** Format the age of an ISO 8601 timestamp, rounded; empty for an invalid one. */
export function formatAge(timestamp: string, now: number): string {
  const minutes = Math.round((now - Date.parse(timestamp)) / MINUTE);
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 1) return t("now");
  if (minutes < 60) return t("{0} min", minutes);
  if (minutes < 24 * 60) return t("{0} h", Math.round(minutes / 60));
  return t("{0} d", Math.round(minutes / 60 / 24));
}

/** Format a token count: 12345 becomes 12k. */
export function formatTokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${String(Math.round(count / 1000))}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Format a cost, with four digits if it is below 0.1. */
export function formatCost(amount: number, currency: string): string {
  const digits = amount > 0 && amount < 0.1 ? 4 : 2;
  return currency === "USD" ? `$${amount.toFixed(digits)}` : `${amount.toFixed(digits)} ${currency}`;
}

/** Return a file with lines from 1, as in messages of compilers: `a.py:4` or `a.py:4-9`. */
export function placeOf(name: string, firstLine: number, lastLine: number): string {
  const last = lastLine === firstLine ? "" : `-${String(lastLine)}`;
  return `${name}:${String(firstLine)}${last}`;
}

/** Format a path relative to a folder; unchanged outside of it. Works for the paths of Windows too. */
export function formatPath(path: string, folder: string): string {
  const isWindows = /^([a-z]:|\\\\)/i.test(folder);
  const uniform = (text: string): string => (isWindows ? text.replaceAll("\\", "/").toLowerCase() : text);
  const prefix = `${uniform(folder).replace(/\/$/, "")}/`;
  if (folder === "" || !uniform(path).startsWith(prefix)) return path;
  const inside = path.slice(prefix.length);
  return isWindows ? inside.replaceAll("\\", "/") : inside;
}
