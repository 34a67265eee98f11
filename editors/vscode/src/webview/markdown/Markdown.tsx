/** Markdown component; its DOM is rendered by `growingMarkdown`, not by Preact. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useHost } from "../hostContext.js";
import { GrowingMarkdown } from "./growingMarkdown.js";

export function Markdown({ text, isGrowing }: { text: string; isGrowing: boolean }): JSX.Element {
  const node = useRef<HTMLDivElement>(null);
  const renderer = useRef<GrowingMarkdown | null>(null);
  const { post } = useHost();
  useLayoutEffect(() => {
    if (node.current === null) return;
    renderer.current ??= new GrowingMarkdown(node.current, (href) => {
      post({ type: "openLink", href });
    });
    renderer.current.show(text, isGrowing);
  }, [text, isGrowing, post]);
  useEffect(() => () => void (renderer.current = null), []);
  return <div class="markdown" ref={node} />;
}
