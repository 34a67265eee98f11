/** Focus rules: a question must never receive keys that the user typed for something else. */

/** Keys pressed within this time after a question appears are ignored: they were meant for something else. */
export const KEY_GUARD_MILLISECONDS = 400;

/**
 * Focus an element unless the user is typing; return a function that cancels the pending focus.
 *
 * A webview could take the focus from the text editor, so while the user is in the editor this waits
 * until the webview gets the focus.
 */
export function focusUnlessTyping(element: HTMLElement | null): () => void {
  const focus = (): void => {
    if (!isTyping()) element?.focus();
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

/** Whether the user is typing, so that the focus must stay where it is. */
export function isTyping(): boolean {
  const focused = document.activeElement;
  if (focused instanceof HTMLTextAreaElement) return focused.value !== "";
  return focused instanceof HTMLInputElement || focused instanceof HTMLSelectElement;
}
