/**
 * Whether an open question was shown to its end: nothing may be allowed unseen.
 *
 * Where a question is taller than its place, an answer that allows it first scrolls through the rest. Once the end
 * was in view, the question counts as seen, also when the user scrolls back or makes the view smaller.
 */
import { useLayoutEffect, useRef, useState, type MutableRef } from "preact/hooks";
import { KEY_GUARD_MILLISECONDS } from "./focus.js";

/** What is below the visible part of a question: files that are hidden whole, and lines in all. */
export interface HiddenRest {
  readonly files: number;
  readonly lines: number;
}

/** Id of the element that says what is hidden; it describes the answer that shows it first. */
export const REST_ID = "question-rest";
/** Selects the buttons for lines that are not rendered yet; their number is in the attribute. */
const UNRENDERED = "[data-hidden-lines]";
/** Rounded positions differ by this from the exact ones, in pixels. */
const ROUNDING_PIXELS = 2;
/** Height of a line of code with the default settings, in pixels. */
const LINE_PIXELS = 17;

export interface SeenToEnd {
  readonly body: MutableRef<HTMLDivElement | null>;
  /** What is hidden below at the moment; null if nothing is. */
  readonly rest: HiddenRest | null;
  /** Whether an answer that allows it would show the hidden part instead. */
  readonly mustShowRest: boolean;
  /** To be called when the body scrolls. */
  readonly look: () => void;
  /** Scroll to the next hidden part, or render it. */
  readonly showNext: () => void;
  /** Return whether the question may be allowed now; if it may not, show its next part. */
  readonly mayAllow: () => boolean;
}

/** What each question showed when its end was in view: one that the user comes back to needs no second look. */
const seenContents = new WeakMap<object, readonly unknown[]>();

/**
 * Watch the scrolled body of one question.
 *
 * @param contents What the body shows; for others, the end must be seen again.
 * @param movedAt When another question, or the next part of one, came into view.
 */
export function useSeenToEnd(question: object, contents: readonly unknown[], movedAt: MutableRef<number>): SeenToEnd {
  const body = useRef<HTMLDivElement | null>(null);
  const [rest, setRest] = useState<HiddenRest | null>(null);
  const look = (): void => {
    const found = body.current === null ? null : hiddenRest(body.current);
    // A view that is hidden has no layout, and shows nothing.
    if (found === null && (body.current?.clientHeight ?? 0) > 0) seenContents.set(question, contents);
    setRest((before) => (before?.files === found?.files && before?.lines === found?.lines ? before : found));
  };
  useLayoutEffect(() => {
    look();
    if (body.current === null || typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(look);
    for (const node of [body.current, ...body.current.children]) observer.observe(node);
    return () => {
      observer.disconnect();
    };
  }, contents);
  const showNext = (): void => {
    if (body.current !== null) revealNext(body.current);
    look();
  };
  const isSeen = (): boolean => seenContents.get(question)?.every((each, index) => each === contents[index]) === true;
  const mayAllow = (): boolean => {
    const wasShown = isSeen() || body.current === null || hiddenRest(body.current) === null;
    if (!wasShown) showNext();
    // A double click, or a key that is held, must not allow what it has just brought into view.
    const isIntended = Date.now() - movedAt.current >= KEY_GUARD_MILLISECONDS;
    if (!wasShown || !isIntended) movedAt.current = Date.now();
    return wasShown && isIntended;
  };
  return { body, rest, mustShowRest: rest !== null && !isSeen(), look, showNext, mayAllow };
}

function hiddenRest(body: HTMLElement): HiddenRest | null {
  const { scrollHeight, scrollTop, clientHeight } = body;
  const unrendered = [...body.querySelectorAll<HTMLElement>(UNRENDERED)].reduce((sum, { dataset }) => sum + Number(dataset["hiddenLines"]), 0);
  const pixels = scrollHeight - scrollTop - clientHeight;
  const isTooLow = clientHeight < LINE_PIXELS && scrollHeight > clientHeight;
  if (pixels <= ROUNDING_PIXELS && unrendered === 0 && !isTooLow) return null;
  const end = body.getBoundingClientRect().bottom - LINE_PIXELS;
  const files = [...body.querySelectorAll(".diff")].filter((diff) => diff.getBoundingClientRect().top > end).length;
  // Commands and diffs have lines of other heights; without a style sheet there is none.
  const style = body.ownerDocument.defaultView?.getComputedStyle(body.querySelector("pre, .diff-line") ?? body);
  const line = Number.parseFloat(style?.lineHeight ?? "") || LINE_PIXELS;
  return { files, lines: Math.max(1, Math.round(pixels / line) + unrendered) };
}

function revealNext(body: HTMLElement): void {
  const { top, bottom } = body.getBoundingClientRect();
  for (const button of body.querySelectorAll<HTMLElement>(UNRENDERED)) {
    const place = button.getBoundingClientRect();
    if (place.top > bottom) continue;
    // The lines take the place of the button, which may have been scrolled past.
    if (place.top < top) body.scrollTop -= top - place.top;
    button.click();
    return;
  }
  // Some lines are shown again, but in a low place only a third of it.
  body.scrollTop += Math.max(body.clientHeight - 2 * LINE_PIXELS, Math.ceil(body.clientHeight * (2 / 3)));
}
