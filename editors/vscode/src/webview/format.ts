/** Formatting of ages, token counts and costs. */

const MINUTE = 60_000;

/** Format the age of an ISO 8601 timestamp, rounded; empty for an invalid one. */
export function formatAge(timestamp: string, now: number): string {
  const minutes = Math.round((now - Date.parse(timestamp)) / MINUTE);
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 1) return "now";
  if (minutes < 60) return `${String(minutes)} min`;
  if (minutes < 24 * 60) return `${String(Math.round(minutes / 60))} h`;
  return `${String(Math.round(minutes / 60 / 24))} d`;
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
