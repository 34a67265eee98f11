/**
 * The page that the chat is shown in.
 *
 * Owns its HTML and what it may load: our script and our styles, pictures as data, nothing else.
 */
import { randomBytes } from "node:crypto";

export interface PageParts {
  /** What the webview calls its own resources' origin. */
  readonly source: string;
  readonly script: string;
  readonly styles: string;
}

export function pageOf({ source, script, styles }: PageParts): string {
  const nonce = randomBytes(18).toString("base64");
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${source}`,
    `img-src ${source} data:`,
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
