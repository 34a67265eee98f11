/**
 * Where the user's hands are.
 *
 * Owns the rule that a question never takes keys that were meant for something else.
 */

/** A key that was on its way when a question came answers nothing. */
export const SETTLING_MILLISECONDS = 400;

/**
 * Give a part the focus where that disturbs nobody; return how to take that back.
 *
 * A page within the editor could take the focus from the editor itself, so while the user is there
 * it waits until they come here.
 */
export function focusQuietly(part: HTMLElement | null): () => void {
  const focus = (): void => {
    if (!isWriting()) part?.focus();
  };
  if (document.hasFocus()) {
    focus();
    return () => undefined;
  }
  window.addEventListener("focus", focus, { once: true });
  return () => {
    window.removeEventListener("focus", focus);
  };
}

/** Whether the user is writing something: then nothing may take the focus away. */
export function isWriting(): boolean {
  const focused = document.activeElement;
  if (focused instanceof HTMLTextAreaElement) return focused.value !== "";
  return focused instanceof HTMLInputElement || focused instanceof HTMLSelectElement;
}
