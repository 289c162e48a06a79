import { createServer } from "node:net";

/**
 * A port of this address without a listener at this moment. If it is taken by the time it is used, the server exits
 * with `portTakenCode`.
 */
export async function findFreePort(host = "127.0.0.1"): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
