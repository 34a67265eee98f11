/** How many lines a change adds and removes. A count of zero is left out, unless the user must be sure of it. */
import type { JSX } from "preact";

export function LineCounts({ added, removed, hasZeros = false }: { added: number; removed: number; hasZeros?: boolean }): JSX.Element {
  return (
    <>
      {(hasZeros || added > 0) && <span class="added-count">+{added}</span>}
      {(hasZeros || removed > 0) && <span class="removed-count">−{removed}</span>}
    </>
  );
}
