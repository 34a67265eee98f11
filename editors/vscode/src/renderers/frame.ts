/** Protocol of a renderer in its sandboxed frame: requests from the view, one result for each. */

export interface RendererRequest {
  readonly id: number;
  readonly source: string;
  readonly isBlock: boolean;
  readonly isDark: boolean;
}

/** Answer the view's requests, one at a time; a failure is answered with null. */
export function serve(render: (request: RendererRequest) => Promise<unknown>): void {
  let queue: Promise<unknown> = Promise.resolve();
  const reply = (id: number, result: unknown): void => {
    // The view's origin is unknown to this opaque one.
    window.parent.postMessage({ id, result }, "*");
  };
  window.addEventListener("message", ({ data, source }: MessageEvent<RendererRequest>) => {
    if (source !== window.parent) return;
    queue = queue.then(() => render(data)).then(
      (result) => {
        reply(data.id, result);
      },
      () => {
        reply(data.id, null);
      },
    );
  });
  window.parent.postMessage({ type: "ready" }, "*");
}
