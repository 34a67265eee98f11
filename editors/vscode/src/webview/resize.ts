/** Calls a function when an element is resized. */
import { useLayoutEffect, useRef } from "preact/hooks";

/** Call `onResize` when the size of an element changes, e.g. because another panel expands. */
export function useResize(elements: readonly { readonly current: Element | null }[], onResize: () => void): void {
  const latest = useRef(onResize);
  latest.current = onResize;
  useLayoutEffect(() => {
    if (typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(() => {
      latest.current();
    });
    for (const { current } of elements) if (current !== null) observer.observe(current);
    return () => {
      observer.disconnect();
    };
  }, []);
}
