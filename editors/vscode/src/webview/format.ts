/** Numbers and moments as people read them. */

const MINUTE = 60_000;

/** Return how long ago a moment is, roughly; empty for one that is not known. */
export function agoOf(moment: string, now: number): string {
  const minutes = Math.round((now - Date.parse(moment)) / MINUTE);
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 1) return "now";
  if (minutes < 60) return `${String(minutes)} min`;
  if (minutes < 24 * 60) return `${String(Math.round(minutes / 60))} h`;
  return `${String(Math.round(minutes / 60 / 24))} d`;
}

/** Return a number of tokens, short: 12345 is 12k. */
export function tokensOf(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${String(Math.round(count / 1000))}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Return an amount of money; small ones with the digits that matter. */
export function costOf(amount: number, currency: string): string {
  const digits = amount > 0 && amount < 0.1 ? 4 : 2;
  return currency === "USD" ? `$${amount.toFixed(digits)}` : `${amount.toFixed(digits)} ${currency}`;
}
