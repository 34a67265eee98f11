/** Markdown as a part of the view: a node of its own, drawn by `growing`. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useHost } from "../posting.js";
import { GrowingMarkdown } from "./growing.js";

export function Markdown({ text, isGrowing }: { text: string; isGrowing: boolean }): JSX.Element {
  const node = useRef<HTMLDivElement>(null);
  const drawn = useRef<GrowingMarkdown | null>(null);
  const { post } = useHost();
  useLayoutEffect(() => {
    if (node.current === null) return;
    drawn.current ??= new GrowingMarkdown(node.current, (href) => {
      post({ type: "openLink", href });
    });
    drawn.current.show(text, isGrowing);
  }, [text, isGrowing, post]);
  useEffect(() => () => void (drawn.current = null), []);
  return <div class="markdown" ref={node} />;
}
