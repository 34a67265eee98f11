/** Renders TeX formulas as MathML trees, in a sandboxed frame of the view. */
import katex from "katex";
import { serve } from "./frame.js";

const MAX_EXPANSIONS = 500;
const MAX_SIZE_EM = 10;

type MathNode = string | [name: string, attributes: Record<string, string>, children: MathNode[]];

serve(({ source, isBlock }) => {
  const options = {
    output: "mathml",
    displayMode: isBlock,
    throwOnError: true,
    trust: false,
    strict: "ignore",
    maxExpand: MAX_EXPANSIONS,
    maxSize: MAX_SIZE_EM,
  } as const;
  const html = katex.renderToString(source, options);
  const math = new DOMParser().parseFromString(html, "text/html").querySelector("math");
  if (math === null) return Promise.reject(new Error("no formula"));
  return Promise.resolve(treeOf(math));
});

/** Return an element as a tree. Of `semantics`, only the formula is kept, not its source. */
function treeOf(element: Element): MathNode {
  const [presentation] = element.children;
  if (element.localName === "semantics" && presentation !== undefined) return treeOf(presentation);
  const attributes = Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value]));
  const children = [...element.childNodes].flatMap((node): MathNode[] => {
    if (node instanceof Element) return [treeOf(node)];
    return node.nodeType === Node.TEXT_NODE ? [node.textContent ?? ""] : [];
  });
  return [element.localName, attributes, children];
}
