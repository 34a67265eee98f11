/** A short text whose parts in backticks are shown as code. */
import type { JSX } from "preact";

export function InlineCode({ text }: { text: string }): JSX.Element {
  const parts = text.split(/`([^`]*)`/);
  return <>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
