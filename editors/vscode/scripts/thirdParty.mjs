// Writes THIRD_PARTY.md: the packages in the bundles with their licences, read from their manifests.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { HOST, ROOT, VIEW } from "./bundling.mjs";

const found = new Map();
for (const options of [HOST, VIEW]) {
  const { metafile } = await build({ ...options, minify: true, metafile: true, write: false });
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const match = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(path);
      if (match !== null && bytesInOutput > 0) found.set(match[2], match[1]);
    }
  }
}
const rows = await Promise.all(
  [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(async ([name, folder]) => {
    const { license } = JSON.parse(await readFile(join(ROOT, folder, "package.json"), "utf8"));
    // One package has its licence only as a file, whose first words name it.
    return `| ${name} | ${license ?? /The (\w+) License/.exec(await readFile(join(ROOT, folder, "license"), "utf8"))[1]} |`;
  }),
);
const text = `# What is bundled

Written by \`node scripts/thirdParty.mjs\` from the packages' own manifests.

| package | licence |
|---|---|
${rows.join("\n")}
| some [codicons](https://github.com/microsoft/vscode-codicons), as paths | CC BY 4.0, by Microsoft |

Not in the package, but in the sources for its pictures and tests: VS Code's default stylesheet of webviews
(\`scripts/webviewDefaults.css\`, MIT, by Microsoft).
`;
await writeFile(join(ROOT, "THIRD_PARTY.md"), text);
