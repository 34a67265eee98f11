/** A row over the end of a list that scrolls in the dock: how many of its entries are out of view below. */
import type { JSX } from "preact";
import { useLayoutEffect, useState, type MutableRef } from "preact/hooks";
import { Icon } from "../Icon.js";
import { t } from "../../shared/l10n.js";

/** Height of the row, which covers as much of the list, and of an entry's first line above it. */
const ROW_PIXELS = 24;
/** Height of a line of code. */
const LINE_PIXELS = 16;
/** Rounded positions differ by this from the exact ones, in pixels. */
const ROUNDING_PIXELS = 2;

interface MoreBelowProps {
  readonly list: MutableRef<HTMLElement | null>;
  /** Number of entries of the list. */
  readonly count: number;
  /** Says how many entries are out of view, and how many lines of the changes in them. */
  readonly textOf: (entries: number, lines: number) => string;
}

export function MoreBelow({ list, count, textOf }: MoreBelowProps): JSX.Element | null {
  const [text, setText] = useState("");
  useLayoutEffect(() => {
    const { current } = list;
    if (current === null) return undefined;
    const look = (): void => {
      const [entries, lines] = [hiddenOf(current, current.children, ROW_PIXELS), hiddenOf(current, current.querySelectorAll(".diff-line"), LINE_PIXELS)];
      setText(isCut(current) ? textOf(entries, lines) : "");
    };
    look();
    current.addEventListener("scroll", look);
    const observer = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(look);
    for (const node of [current, ...current.children]) observer?.observe(node);
    return () => {
      current.removeEventListener("scroll", look);
      observer?.disconnect();
    };
  }, [count]);
  const showNext = (): void => {
    const node = list.current;
    if (node !== null) node.scrollTop += Math.max(node.clientHeight - 2 * ROW_PIXELS, ROW_PIXELS);
  };
  if (text === "") return null;
  return (
    <button type="button" class="more more-below" data-testid="more-below" onClick={showNext}>
      {text} <Icon name="arrowDown" />
    </button>
  );
}

/** Whether a list goes on below its visible part; where there is no space for the row, its head says how long it is. */
function isCut({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return clientHeight >= 2 * ROW_PIXELS && scrollHeight - scrollTop - clientHeight > ROUNDING_PIXELS;
}

/** Return how many parts of a list do not have their first line, of this height, in view. */
function hiddenOf(list: HTMLElement, parts: Iterable<Element>, height: number): number {
  const end = list.getBoundingClientRect().bottom - ROW_PIXELS - height;
  return [...parts].filter((part) => part.getBoundingClientRect().top > end + ROUNDING_PIXELS).length;
}

/** Say how many lines, and files as a whole, are out of view. */
export function filesBelow(files: number, lines: number): string {
  const more: string[] = [];
  if (lines > 0) more.push(lines === 1 ? t("1 more line") : t("{0} more lines", lines));
  if (files > 0) more.push(files === 1 ? t("1 more file") : t("{0} more files", files));
  return more.join(", ") || t("More");
}
