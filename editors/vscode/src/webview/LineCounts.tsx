/** How many lines a change adds and removes; a count of zero is left out. */
import type { JSX } from "preact";

export function LineCounts({ added, removed }: { added: number; removed: number }): JSX.Element {
  return (
    <>
      {added > 0 && <span class="added-count">+{added}</span>}
      {removed > 0 && <span class="removed-count">−{removed}</span>}
    </>
  );
}
