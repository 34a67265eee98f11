// esbuild options for the host, the view and the tests.
// `codicon:NAME` imports the paths of one icon, so that only the icons in use are bundled.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const ICONS = join(dirname(require.resolve("@vscode/codicons/package.json")), "src", "icons");

const codicons = {
  name: "codicons",
  setup(build) {
    build.onResolve({ filter: /^codicon:/ }, ({ path }) => ({ path, namespace: "codicon" }));
    build.onLoad({ filter: /.*/, namespace: "codicon" }, async ({ path }) => {
      const svg = await readFile(join(ICONS, `${path.slice("codicon:".length)}.svg`), "utf8");
      const paths = [...svg.matchAll(/\bd="([^"]+)"/g)].map(([, data]) => data);
      const viewBox = /viewBox="([^"]+)"/.exec(svg)?.[1] ?? "0 0 16 16";
      return { contents: `export default ${JSON.stringify({ viewBox, paths })};`, loader: "js" };
    });
  },
};

const shared = { absWorkingDir: ROOT, bundle: true, logLevel: "warning", plugins: [codicons] };

export const HOST = {
  ...shared,
  entryPoints: { extension: "src/extension/extension.ts" },
  outdir: "dist",
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
};

export const VIEW = {
  ...shared,
  entryPoints: { webview: "src/webview/main.tsx" },
  outdir: "dist",
  platform: "browser",
  target: "es2022",
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
};

/** Tests run without VS Code: a fake replaces the `vscode` module. */
const fakeVscode = {
  name: "fake-vscode",
  setup(build) {
    const path = join(ROOT, "tests", "support", "vscode.ts");
    build.onResolve({ filter: /^vscode$/ }, () => ({ path }));
  },
};

export function testsOf(entryPoints) {
  return {
    ...shared,
    entryPoints,
    plugins: [codicons, fakeVscode],
    outdir: "out/tests",
    outbase: "tests",
    outExtension: { ".js": ".mjs" },
    platform: "node",
    target: "node20",
    format: "esm",
    packages: "external",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".css": "empty" },
    sourcemap: "inline",
  };
}
