import { createServer } from "node:net";
import { AppError, errorMessage } from "../../platform/errors.ts";

/** Binds the address for an instant, so that a taken port is reported before the database is started. */
export async function checkAddress(host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()));
  }).catch((error: unknown) => {
    throw explainListenError(error, host, port);
  });
}

/** The sentence for an address that cannot be listened on; other errors come back as they are. */
export function explainListenError(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  switch (code) {
    case "EADDRINUSE":
      return new AppError({
        code: "server.port_taken",
        kind: "unavailable",
        message:
          `Port ${port} on ${host} is taken by another program. ` +
          "Stop that program, or choose another port with --port or TREADLE_PORT (0 = any free one).",
        cause: error,
      });
    case "EACCES":
      return new AppError({
        code: "server.port_not_permitted",
        kind: "unavailable",
        message: `This user may not listen on port ${port} of ${host}. Choose one above 1023 with --port or TREADLE_PORT.`,
        cause: error,
      });
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new AppError({
        code: "config.invalid",
        kind: "invalid",
        message: `${host} is not an address of this machine (${errorMessage(error)}). Correct --host or TREADLE_HOST.`,
        cause: error,
      });
    default:
      return error;
  }
}
