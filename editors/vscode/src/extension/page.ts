/**
 * HTML page of the chat's webview.
 *
 * Its content security policy allows only our scripts, our styles, and images from the extension or as
 * data URLs. It has no source of frames: the only frames are the view's own renderers, which inherit it.
 */
import { randomBytes } from "node:crypto";

export interface PageResources {
  /** The webview's origin for its own resources (`Webview.cspSource`). */
  readonly cspSource: string;
  readonly script: string;
  readonly styles: string;
}

export function renderPage({ cspSource, script, styles }: PageResources): string {
  const nonce = randomBytes(18).toString("base64");
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource}`,
    `img-src ${cspSource} data:`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="UTF-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1.0" />
    <title>Hermes Agent</title>
    <link rel="stylesheet" href="${styles}" />
  </head>
  <body>
    <div id="root"></div>
    <script nonce="${nonce}" src="${script}"></script>
  </body>
</html>
`;
}
