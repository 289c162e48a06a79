import http from "node:http";

/** A small client for load: keep-alive, no retries, bodies as text. */
export class HttpClient {
  readonly #agent: http.Agent;
  readonly #port: number;

  constructor(port: number, sockets: number) {
    this.#port = port;
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: sockets });
  }

  close(): void {
    this.#agent.destroy();
  }

  call(method: string, path: string, body?: unknown): Promise<string> {
    return this.stream(method, path, body, () => undefined);
  }

  /** `onChunk` sees the body as it arrives; the promise has all of it. */
  stream(method: string, path: string, body: unknown, onChunk: (text: string) => void): Promise<string> {
    const data = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const request = http.request(
        {
          host: "127.0.0.1",
          port: this.#port,
          method,
          path,
          agent: this.#agent,
          headers: data
            ? { "content-type": "application/json", "content-length": Buffer.byteLength(data) }
            : {},
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (chunk: string) => {
            text += chunk;
            onChunk(chunk);
          });
          response.on("end", () => {
            const status = response.statusCode ?? 0;
            if (status >= 200 && status < 300) resolve(text);
            else reject(new Error(`${method} ${path}: ${status} ${text.slice(0, 200)}`));
          });
        },
      );
      request.on("error", reject);
      request.end(data);
    });
  }
}
