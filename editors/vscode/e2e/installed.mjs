// Says where code-server is, and fails when it is not there.

import { installedFolder } from "./codeServer.mjs";

const folder = installedFolder();
if (folder === undefined) process.exitCode = 1;
else console.log(folder);
