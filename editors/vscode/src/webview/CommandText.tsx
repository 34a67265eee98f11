/** The text of a command, or with the name of a program, whose lines break at its spaces: a browser also breaks them after hyphens, as in prose. */
import type { JSX } from "preact";

/** Class of an inline element in which no line breaks. */
export const UNBROKEN_CLASS = "unbroken";

/** Split a command; every second part is hyphens with the character after them, between which no line may break. */
export function splitAtHyphens(command: string): readonly string[] {
  return command.split(/(-+[^\s-])/);
}

export function CommandText({ text }: { text: string }): JSX.Element {
  const parts = splitAtHyphens(text);
  return <>{parts.map((part, index) => (index % 2 === 1 ? <span key={index} class={UNBROKEN_CLASS}>{part}</span> : part))}</>;
}
