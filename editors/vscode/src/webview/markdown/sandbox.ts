/**
 * Diagrams and formulas, rendered in sandboxed frames.
 *
 * Each renderer runs in a frame with an opaque origin and the view's own content policy, so it reaches
 * neither the view nor the network. What it returns is data: a diagram becomes an image, and of a formula
 * only known MathML elements are built. The renderers' scripts are loaded at first use.
 */
import { t } from "../../shared/l10n.js";
import { isRecord } from "../../shared/validation.js";

export type RendererName = "diagrams" | "math";

export interface RenderRequest {
  readonly source: string;
  /** Whether a formula is set as a block. */
  readonly isBlock: boolean;
  readonly isDark: boolean;
}

const MAX_SOURCE_CHARACTERS = 20_000;
const MAX_RESULT_CHARACTERS = 2_000_000;
/** A renderer that takes longer is ended; its sources stay as they are. */
const TIMEOUT_MILLISECONDS = 15_000;

interface Job extends RenderRequest {
  readonly id: number;
  readonly settle: (result: unknown) => void;
}

class SandboxedRenderers {
  /** Nonce of the view's scripts; the frames inherit the policy that requires it. */
  nonce = "";
  /** Asks the host for a renderer's script. */
  loadScript: (name: RendererName) => void = () => undefined;
  readonly #frames = new Map<RendererName, RendererFrame>();

  /** Return what a renderer makes of a source; null if it fails, is too large or takes too long. */
  render(name: RendererName, request: RenderRequest): Promise<unknown> {
    if (request.source.length > MAX_SOURCE_CHARACTERS) return Promise.resolve(null);
    return this.#frameOf(name).render(request);
  }

  onScript(name: string, text: string): void {
    if (name === "diagrams" || name === "math") this.#frames.get(name)?.start(text, this.nonce);
  }

  /** Handle a message if it comes from a renderer; return whether it does. */
  receive(data: unknown, source: unknown): boolean {
    for (const frame of this.#frames.values()) {
      if (!frame.isSource(source)) continue;
      frame.receive(data);
      return true;
    }
    return false;
  }

  #frameOf(name: RendererName): RendererFrame {
    const found = this.#frames.get(name);
    if (found !== undefined) return found;
    const frame = new RendererFrame(() => {
      this.#frames.delete(name);
    });
    this.#frames.set(name, frame);
    this.loadScript(name);
    return frame;
  }
}

class RendererFrame {
  readonly #jobs = new Map<number, Job>();
  readonly #onEnded: () => void;
  #element: HTMLIFrameElement | null = null;
  #isReady = false;
  #lastId = 0;

  constructor(onEnded: () => void) {
    this.#onEnded = onEnded;
  }

  render(request: RenderRequest): Promise<unknown> {
    return new Promise((resolve) => {
      this.#lastId += 1;
      const id = this.#lastId;
      const timer = setTimeout(() => {
        this.#end();
      }, TIMEOUT_MILLISECONDS);
      const settle = (result: unknown): void => {
        clearTimeout(timer);
        this.#jobs.delete(id);
        resolve(result);
      };
      const job = { ...request, id, settle };
      this.#jobs.set(id, job);
      if (this.#isReady) this.#post(job);
    });
  }

  /** Create the frame. It has the nonce of the view's scripts because it inherits the view's policy. */
  start(script: string, nonce: string): void {
    if (this.#element !== null) return;
    const frame = document.createElement("iframe");
    frame.className = "renderer-frame";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.setAttribute("aria-hidden", "true");
    frame.tabIndex = -1;
    frame.title = "Renderer";
    const escaped = script.replaceAll(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
    frame.srcdoc = `<!DOCTYPE html><html><head><meta charset="UTF-8"></head><body><script nonce="${nonce}">${escaped}</script></body></html>`;
    this.#element = frame;
    document.body.append(frame);
  }

  isSource(source: unknown): boolean {
    return this.#element !== null && source === this.#element.contentWindow;
  }

  receive(data: unknown): void {
    if (!isRecord(data)) return;
    if (data["type"] === "ready") {
      this.#isReady = true;
      for (const job of this.#jobs.values()) this.#post(job);
      return;
    }
    const { id, result } = data;
    if (typeof id === "number") this.#jobs.get(id)?.settle(result ?? null);
  }

  #post({ id, source, isBlock, isDark }: Job): void {
    // The frame's origin is opaque, so no other target origin than "*" matches it.
    this.#element?.contentWindow?.postMessage({ id, source, isBlock, isDark }, "*");
  }

  #end(): void {
    this.#element?.remove();
    this.#element = null;
    this.#isReady = false;
    for (const job of [...this.#jobs.values()]) job.settle(null);
    this.#onEnded();
  }
}

export const sandboxedRenderers = new SandboxedRenderers();

/** Return a renderer's image of a diagram; null if it is none. */
export function diagramImage(result: unknown): HTMLImageElement | null {
  if (typeof result !== "string" || result.length > MAX_RESULT_CHARACTERS || !result.startsWith("<svg")) return null;
  const image = document.createElement("img");
  image.className = "diagram";
  image.alt = t("Diagram");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(result)}`;
  return image;
}

const MATH_NAMESPACE = "http://www.w3.org/1998/Math/MathML";
const MATH_ELEMENTS: ReadonlySet<string> = new Set(
  (
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msup msub msubsup munder mover munderover " +
    "mmultiscripts mprescripts mtable mtr mtd mstyle mpadded mphantom menclose merror"
  ).split(" "),
);
const MATH_ATTRIBUTES: ReadonlySet<string> = new Set(
  (
    "display mathvariant stretchy fence separator form lspace rspace minsize maxsize symmetric movablelimits accent " +
    "accentunder linethickness displaystyle scriptlevel columnalign columnspacing rowspacing width height depth voffset notation"
  ).split(" "),
);
const MAX_MATH_NODES = 4000;

/** Build MathML from a renderer's tree of `[name, attributes, children]` and texts; null if it is not MathML. */
export function mathElement(tree: unknown): Element | null {
  let count = 0;
  const build = (node: unknown): Node | null => {
    count += 1;
    if (count > MAX_MATH_NODES) return null;
    if (typeof node === "string") return document.createTextNode(node);
    if (!Array.isArray(node)) return null;
    const [name, attributes, children] = node as unknown[];
    if (typeof name !== "string" || !MATH_ELEMENTS.has(name) || !Array.isArray(children)) return null;
    const element = document.createElementNS(MATH_NAMESPACE, name);
    for (const [key, value] of Object.entries(isRecord(attributes) ? attributes : {})) {
      if (MATH_ATTRIBUTES.has(key) && typeof value === "string") element.setAttribute(key, value);
    }
    for (const child of children as unknown[]) element.append(...[build(child)].filter((each) => each !== null));
    return element;
  };
  const root = build(tree);
  return count <= MAX_MATH_NODES && root instanceof Element && root.localName === "math" ? root : null;
}
