// Prints the directory of code-server; fails if it is not installed.

import { installedFolder } from "./codeServer.mjs";

const folder = installedFolder();
if (folder === undefined) process.exitCode = 1;
else console.log(folder);
