import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { addressesIn } from "../../platform/network/network-address.ts";
import type { DeploymentNetwork } from "./docker-network.ts";
import { createPlatformRelay } from "./docker-platform-relay.ts";

/** The same on every network, so that a firewall can name them. */
export const relayPorts = { database: 15_432, platform: 18_124 } as const;

export type RelayTargets = {
  /** What listens on this machine's loopback; null for what a container reaches by itself. */
  database: { host: string; port: number } | null;
  platform: URL | null;
};

export type Relay = { close(): Promise<void> };

const maxConnections = 128;

/**
 * Two doors of this machine on the address it has in a deployment's network: the database, and the platform's API.
 * A container has no other way to what listens on loopback. Both are for this network alone: without the check
 * another deployment's container could come by the same address.
 */
export async function openRelay(
  { gateway, subnet }: DeploymentNetwork,
  { database, platform }: RelayTargets,
  logger: Logger,
): Promise<Relay> {
  const isOurs = addressesIn([subnet]);
  const admit = (socket: Socket) => {
    const ours = isOurs(socket.remoteAddress ?? "");
    if (!ours) socket.destroy();
    return ours;
  };
  const servers: (Server | HttpServer)[] = [];
  const close = async () => {
    await Promise.all(
      servers.map((server) => {
        if ("closeAllConnections" in server) server.closeAllConnections();
        for (const socket of sockets) socket.destroy();
        return new Promise((resolve) => server.close(resolve));
      }),
    );
  };
  const sockets = new Set<Socket>();
  const listen = async (server: Server | HttpServer, port: number) => {
    server.maxConnections = maxConnections;
    servers.push(server);
    server.listen({ host: gateway, port });
    await once(server, "listening");
    server.on("error", (error) => logger.warn({ reason: errorMessage(error), gateway }, "a relay failed"));
  };
  try {
    if (database) {
      const server = createServer({ noDelay: true, keepAlive: true }, (socket) => {
        if (admit(socket)) join(socket, database, sockets);
      });
      await listen(server, relayPorts.database);
    }
    if (platform) {
      const server = createPlatformRelay(platform);
      server.prependListener("connection", admit);
      await listen(server, relayPorts.platform);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}

/** Bytes both ways; whichever side ends or fails takes the other with it. */
function join(near: Socket, target: { host: string; port: number }, sockets: Set<Socket>): void {
  const far = connect({ ...target, noDelay: true, keepAlive: true });
  for (const [socket, other] of [
    [near, far],
    [far, near],
  ] as const) {
    sockets.add(socket);
    // The other side sees its connection cut, as it would without a relay.
    socket.once("error", () => other.destroy());
    socket.once("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
    socket.pipe(other);
  }
}
