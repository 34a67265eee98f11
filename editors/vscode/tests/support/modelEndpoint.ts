/** A model's endpoint on loopback, in the forms that agents of others speak: it always says the same. */
import { createServer, type IncomingMessage, type Server } from "node:http";

export const ANSWER = "It works.";

export class ModelEndpoint {
  readonly #server: Server;
  /** Paths of the requests for an answer. */
  readonly requests: string[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<ModelEndpoint> {
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        const body = answerTo(request);
        endpoint.requests.push(request.url ?? "");
        response.writeHead(body === null ? 404 : 200, { "content-type": body?.startsWith("{") === true ? "application/json" : "text/event-stream" });
        response.end(body ?? "");
      });
    });
    const endpoint = new ModelEndpoint(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return endpoint;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${String(typeof address === "object" && address !== null ? address.port : 0)}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function answerTo({ url = "" }: IncomingMessage): string | null {
  if (url.includes("/messages")) return url.includes("count_tokens") ? '{"input_tokens":1}' : anthropic();
  if (url.includes("/chat/completions")) return openAi();
  if (url.includes("streamGenerateContent")) return events([gemini()]);
  if (url.includes("generateContent")) return JSON.stringify(gemini());
  return null;
}

function events(all: readonly object[]): string {
  return all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}

function anthropic(): string {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "m", type: "message", role: "assistant", model: "claude", content: [], stop_reason: null, stop_sequence: null, usage };
  const all = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: ANSWER } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  return all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

function openAi(): string {
  const chunk = (delta: object, finish: string | null): object => ({
    ...{ id: "c", object: "chat.completion.chunk", created: 1, model: "m" },
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  return `${events([chunk({ role: "assistant", content: ANSWER }, null), chunk({}, "stop")])}data: [DONE]\n\n`;
}

function gemini(): object {
  const content = { role: "model", parts: [{ text: ANSWER }] };
  return { candidates: [{ index: 0, content, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
}
