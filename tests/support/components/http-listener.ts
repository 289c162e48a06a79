import { createServer, type RequestListener } from "node:http";

export interface HttpListener {
  /** `http://127.0.0.1:port` */
  origin: string;
  stop(): Promise<void>;
}

/** A plain HTTP server on loopback; `createHandler` gets the origin before the first request. */
export async function startHttpListener(
  createHandler: (origin: string) => RequestListener,
): Promise<HttpListener> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no TCP address.");
  const origin = `http://127.0.0.1:${address.port}`;
  server.on("request", createHandler(origin));
  return {
    origin,
    async stop() {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
