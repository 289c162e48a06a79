import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:net";

const lowest = 15_000;
const highest = 65_535;
/** Where most systems begin to take ports for outgoing connections. */
const usualFirstEphemeral = 32_768;
const draws = 20;

/** The port of an earlier start: processes that were started with it, and still run, find the server there again. */
export async function readKeptPort(file: string): Promise<number | undefined> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const port = Number(text.trim());
  return Number.isInteger(port) && port >= 1024 && port <= highest ? port : undefined;
}

export async function keepPort(file: string, port: number): Promise<void> {
  await writeFile(`${file}.new`, `${port}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/**
 * A free port below those the system gives to outgoing connections: one of them might use it at the next start, and a
 * client that connects to such a port while it has no listener may reach itself.
 */
export async function drawPort(): Promise<number> {
  const first = await firstEphemeral();
  for (let draw = 0; draw < draws && first - lowest >= 1_000; draw += 1) {
    const port = await tryPort(randomInt(lowest, first));
    if (port !== undefined) return port;
  }
  const port = await tryPort(0);
  if (port === undefined) throw new Error("The system has no free port.");
  return port;
}

async function firstEphemeral(): Promise<number> {
  const text = await readFile("/proc/sys/net/ipv4/ip_local_port_range", "utf8").catch(() => "");
  return Number.parseInt(text, 10) || usualFirstEphemeral;
}

async function tryPort(wanted: number): Promise<number | undefined> {
  const server = createServer();
  server.listen(wanted, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
  const address = server.address();
  server.close();
  await once(server, "close");
  return address !== null && typeof address !== "string" ? address.port : undefined;
}
