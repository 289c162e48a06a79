import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { AppError } from "../../errors.ts";

/** Begins to listen; answers the port, which the system chooses for 0. */
export function bind(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(bindError(error, host, port));
    server.once("error", onError);
    server.listen({ host: host.replace(/^\[|\]$/g, ""), port }, () => {
      server.off("error", onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function bindError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const base = { kind: "unavailable", retryable: false, cause: error } as const;
  switch (error.code) {
    case "EADDRINUSE":
      return new AppError({
        ...base,
        code: "server.port_taken",
        message: `Port ${port} on ${host} is in use by another process. Stop that process, or choose another port with TREADLE_PORT.`,
      });
    case "EACCES":
      return new AppError({
        ...base,
        code: "server.port_not_permitted",
        message: `This user may not listen on port ${port}. Choose a port above 1023 with TREADLE_PORT.`,
      });
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new AppError({
        ...base,
        code: "server.address_unavailable",
        message: `${host} is not an address of this machine. Set TREADLE_HOST to one of its addresses, for example 127.0.0.1 or 0.0.0.0.`,
      });
    default:
      return error;
  }
}
