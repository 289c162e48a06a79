import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { errorMessage } from "../../../platform/errors.ts";
import type { Logger } from "../../../platform/logger.ts";
import { addressesIn } from "../../../platform/network/network-address.ts";
import type { DeploymentNetwork } from "./network.ts";
import { createPlatformRelay } from "./platform-relay.ts";

/** The same on every network, so that a firewall can name them. */
export const relayPorts = { database: 15_432, platform: 18_124 } as const;

export type RelayTargets = {
  /** What listens on this machine's loopback; null for what a container reaches directly. */
  database: { host: string; port: number } | null;
  platform: URL | null;
};

const maxConnections = 128;

/**
 * Two doors of this machine on the address it has in a deployment's network: the database, and the platform's API.
 * A container has no other way to what listens on loopback. Both are for this network alone: without the check
 * another deployment's container could come by the same address.
 */
export class Relay {
  readonly #gateway: string;
  readonly #isOurs: (address: string) => boolean;
  readonly #logger: Logger;
  readonly #servers: (Server | HttpServer)[] = [];
  readonly #sockets = new Set<Socket>();

  static async open(network: DeploymentNetwork, targets: RelayTargets, logger: Logger): Promise<Relay> {
    const relay = new Relay(network, logger);
    try {
      await relay.#openDoors(targets);
    } catch (error) {
      await relay.close();
      throw error;
    }
    return relay;
  }

  private constructor({ gateway, subnet }: DeploymentNetwork, logger: Logger) {
    this.#gateway = gateway;
    this.#isOurs = addressesIn([subnet]);
    this.#logger = logger;
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#servers.map((server) => {
        if ("closeAllConnections" in server) server.closeAllConnections();
        for (const socket of this.#sockets) socket.destroy();
        return new Promise((resolve) => server.close(resolve));
      }),
    );
  }

  async #openDoors({ database, platform }: RelayTargets): Promise<void> {
    if (database) {
      const server = createServer({ noDelay: true, keepAlive: true }, (socket) => {
        if (this.#admit(socket)) join(socket, database, this.#sockets);
      });
      await this.#listen(server, relayPorts.database);
    }
    if (platform) {
      const server = createPlatformRelay(platform);
      server.prependListener("connection", (socket: Socket) => this.#admit(socket));
      await this.#listen(server, relayPorts.platform);
    }
  }

  async #listen(server: Server | HttpServer, port: number): Promise<void> {
    const gateway = this.#gateway;
    server.maxConnections = maxConnections;
    this.#servers.push(server);
    server.listen({ host: gateway, port });
    await once(server, "listening");
    server.on("error", (error) =>
      this.#logger.warn({ reason: errorMessage(error), gateway }, "a relay failed"),
    );
  }

  #admit(socket: Socket): boolean {
    const ours = this.#isOurs(socket.remoteAddress ?? "");
    if (!ours) socket.destroy();
    return ours;
  }
}

/** Copies bytes both ways; when one side ends or fails, the other is closed too. */
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
