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
    let all = "";
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#open(method, path, body, (response) => {
      response.on("data", (chunk: string) => {
        all += chunk;
        onChunk(chunk);
      });
      response.on("end", () => {
        const status = response.statusCode ?? 0;
        if (status >= 200 && status < 300) resolve(all);
        else reject(new Error(`${method} ${path}: ${status} ${all.slice(0, 200)}`));
      });
    }).on("error", reject);
    return promise;
  }

  /** Reads until `onChunk` returns that it is enough, then leaves. */
  until(method: string, path: string, body: unknown, onChunk: (text: string) => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request = this.#open(method, path, body, (response) => {
      response.on("data", (chunk: string) => {
        if (!onChunk(chunk)) return;
        resolve();
        request.destroy();
      });
      response.on("end", () => reject(new Error(`${method} ${path} ended early`)));
    });
    request.on("error", reject);
    return promise;
  }

  /** Keeps a stream open and reads it; the result ends it. */
  hold(method: string, path: string, body: unknown): () => void {
    const request = this.#open(method, path, body, (response) => response.resume());
    request.on("error", () => undefined);
    return () => request.destroy();
  }

  #open(
    method: string,
    path: string,
    body: unknown,
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest {
    const data = body === undefined ? undefined : JSON.stringify(body);
    const headers = data
      ? { "content-type": "application/json", "content-length": Buffer.byteLength(data) }
      : {};
    const target = { host: "127.0.0.1", port: this.#port, method, path, agent: this.#agent, headers };
    const request = http.request(target, (response) => {
      response.setEncoding("utf8");
      onResponse(response);
    });
    request.end(data);
    return request;
  }
}
