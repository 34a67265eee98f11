/** URIs of files that were dropped from VS Code's explorer or from a file manager. */

const URI_TYPES = ["application/vnd.code.uri-list", "text/uri-list"];
const FILE_URI = /^(?:file|vscode-remote):/;

/** Return the URIs in a drop, in order; empty if it has none. */
export function droppedUris(transfer: DataTransfer | null): string[] {
  for (const type of URI_TYPES) {
    const lines = transfer?.getData(type).split(/\r?\n/) ?? [];
    const uris = lines.map((line) => line.trim()).filter((line) => FILE_URI.test(line));
    if (uris.length > 0) return [...new Set(uris)];
  }
  return [];
}
