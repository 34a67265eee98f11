/** Renders Mermaid diagrams as SVG texts, in a sandboxed frame of the view. */
import mermaid from "mermaid";
import { serve } from "./frame.js";

const MAX_TEXT = 20_000;
const MAX_EDGES = 400;

/**
 * Apply style elements as constructed style sheets.
 *
 * The inherited content policy blocks style elements, and Mermaid measures texts in the style that it has
 * inserted. Constructed sheets are not blocked; the returned SVG has its style element as well.
 */
const { insertBefore } = Node.prototype as { insertBefore: (this: Node, node: Node, child: Node | null) => Node };
Node.prototype.insertBefore = function <T extends Node>(this: Node, node: T, child: Node | null): T {
  if (node instanceof HTMLStyleElement || node instanceof SVGStyleElement) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(node.textContent);
    document.adoptedStyleSheets = [sheet];
  }
  return insertBefore.call(this, node, child) as T;
};

serve(async ({ id, source, isDark }) => {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    theme: isDark ? "dark" : "default",
    htmlLabels: false,
    maxTextSize: MAX_TEXT,
    maxEdges: MAX_EDGES,
    fontFamily: "sans-serif",
    suppressErrorRendering: true,
  });
  const { svg } = await mermaid.render(`diagram-${String(id)}`, source);
  return withSize(svg);
});

/** Set the size of an SVG text from its view box, because an image needs one. */
function withSize(svg: string): string {
  const parsed = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  if (parsed === null) throw new Error("not an SVG");
  const { width, height } = parsed.viewBox.baseVal;
  parsed.setAttribute("width", String(Math.ceil(width)));
  parsed.setAttribute("height", String(Math.ceil(height)));
  return new XMLSerializer().serializeToString(parsed);
}
