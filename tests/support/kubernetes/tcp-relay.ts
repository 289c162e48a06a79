import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

export interface TcpRelay {
  url: string;
  /** The same URL at the relay's address. */
  urlFor(url: string): string;
  stop(): Promise<void>;
}

/**
 * Lets pods reach what listens on loopback: at an address that only they and this machine know. With `tls` it is there over
 * https, as behind a proxy that ends it.
 */
export async function startTcpRelay(
  host: string,
  target: () => string,
  tls?: Pick<TlsOptions, "cert" | "key">,
): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  const accept = (client: Socket) => {
    const { hostname, port } = new URL(target());
    const upstream = connect(Number(port), hostname);
    for (const [socket, peer] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      // A pod may be removed with its network before its last words are sent.
      socket.setKeepAlive(true, 5_000);
      socket.on("error", () => peer.destroy());
      socket.once("close", () => {
        sockets.delete(socket);
        peer.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  };
  const server = tls ? createTlsServer(tls, accept) : createServer(accept);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://${host}:${port}`,
    urlFor(given) {
      const url = new URL(given);
      url.hostname = host;
      url.port = String(port);
      return url.href;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
