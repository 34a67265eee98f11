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
  /** The language of the editor, and the texts of the view in it, as JSON; empty for English. */
  readonly language: string;
  readonly translations: string;
}

export function renderPage({ cspSource, script, styles, language, translations }: PageResources): string {
  const nonce = randomBytes(18).toString("base64");
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource}`,
    `img-src ${cspSource} data:`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const data = translations === "" ? "" : ` data-translations="${translations.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"`;
  return `<!DOCTYPE html>
<html lang="${language}">
  <head>
    <meta charset="UTF-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1.0" />
    <title>Hermes Agent</title>
    <link rel="stylesheet" href="${styles}" />
  </head>
  <body>
    <div id="root"${data}></div>
    <script nonce="${nonce}" src="${script}"></script>
  </body>
</html>
`;
}
