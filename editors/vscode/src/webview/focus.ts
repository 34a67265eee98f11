/** Where the user's hands are. */

/** Whether the user is writing something: then nothing may take the focus away. */
export function isWriting(): boolean {
  const focused = document.activeElement;
  if (focused instanceof HTMLTextAreaElement) return focused.value !== "";
  return focused instanceof HTMLInputElement || focused instanceof HTMLSelectElement;
}
