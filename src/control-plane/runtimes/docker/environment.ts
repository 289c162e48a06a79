import { homeFolder } from "./container.ts";
import { type RelayTargets, relayPorts } from "./relay.ts";

/** Where the platform and its database are, as this machine sees them. */
export type Reach = { databaseUrl: string; platformUrl(): string };

const databaseNames = ["DATABASE_URL", "DATABASE_URI", "POSTGRES_URI"];
/** What others call the server by; it dials none of it. */
const spoken = new Set(["TREADLE_PUBLIC_URL"]);

/** What a container cannot reach directly, because it listens on this machine's loopback. */
export function relayTargets(reach: Reach | undefined): RelayTargets {
  if (!reach) return { database: null, platform: null };
  const database = new URL(reach.databaseUrl);
  const platform = new URL(reach.platformUrl());
  return {
    database: isLoopback(database.hostname)
      ? { host: plain(database.hostname), port: Number(database.port || 5432) }
      : null,
    platform: isLoopback(platform.hostname) ? platform : null,
  };
}

/** The environment of a server, in the words of a container: other addresses, and none of the machine's own paths. */
export function containerEnvironment(
  given: Record<string, string>,
  gateway: string,
  targets: RelayTargets,
  { isImage }: { isImage: boolean },
): Record<string, string> {
  const { PATH, HOME: _home, TMPDIR: _tmp, ...rest } = given;
  const moved = Object.entries(rest).map(([name, value]): [string, string] => {
    if (databaseNames.includes(name)) return [name, databaseFrom(value, gateway, targets)];
    return [name, spoken.has(name) ? value : platformFrom(value, gateway, targets)];
  });
  return {
    // An image brings its own path.
    ...(isImage || PATH === undefined ? {} : { PATH }),
    ...privateAddresses(given),
    ...Object.fromEntries(moved),
    HOME: homeFolder,
    TMPDIR: "/tmp",
    // The port is published on this machine's loopback, which a server that listens on its own loopback never sees.
    TREADLE_HOST: "0.0.0.0",
    HOST: "0.0.0.0",
  };
}

function databaseFrom(value: string, gateway: string, { database }: RelayTargets): string {
  const url = parsed(value);
  if (!url || !database || !isLoopback(url.hostname) || Number(url.port || 5432) !== database.port)
    return value;
  url.hostname = gateway;
  url.port = String(relayPorts.database);
  return url.href;
}

function platformFrom(value: string, gateway: string, { platform }: RelayTargets): string {
  const url = parsed(value);
  if (!url || !platform || url.protocol !== platform.protocol) return value;
  if (!isLoopback(url.hostname) || url.port !== platform.port) return value;
  return value.replace(/^[a-z]+:\/\/[^/?#]+/i, `http://${gateway}:${relayPorts.platform}`);
}

/** On one machine a server may call its neighbours in the network, as it may when it is a process. */
function privateAddresses({ TREADLE_PUBLIC_URL: url }: Record<string, string>): Record<string, string> {
  const host = url === undefined ? undefined : parsed(url)?.hostname;
  return host !== undefined && isLoopback(host) ? { TREADLE_ALLOW_PRIVATE_ADDRESSES: "true" } : {};
}

function parsed(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}

const plain = (hostname: string) => hostname.replace(/^\[|\]$/g, "");

function isLoopback(hostname: string): boolean {
  const host = plain(hostname);
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}
