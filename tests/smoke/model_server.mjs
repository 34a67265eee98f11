// aimock, a stub of model servers that others wrote: it plays a file of answers over every form.
// Prints its address as a line, and ends with its stdin.
import { pathToFileURL } from "node:url";

const [clients, answers] = process.argv.slice(2);
const entry = `${clients}/node_modules/@copilotkit/aimock/dist/index.js`;
const { LLMock } = await import(pathToFileURL(entry));
const server = new LLMock({
  port: 0,
  host: "127.0.0.1",
  logLevel: "silent",
  strict: true, // what it has no answer for is refused, not passed over
  chunkSize: 60,
  latency: 20,
});
server.loadFixtureFile(answers);
await server.start();
console.log(server.url);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
