/** Where a server takes requests. A server with replicas has one for each. */
export type Endpoint = {
  /** What runs there, by the name its runtime has for it: unique within the instance. */
  name: string;
  host: string;
  port: number;
  /** Only such a one gets requests. */
  ready: boolean;
};

/** Of a server that is one process or one container. */
export const onlyEndpoint = "main";

/** A server of an earlier version, which wrote none down, is on the machine of its gateway. */
export function endpointsOf(known: readonly Endpoint[], port: number): readonly Endpoint[] {
  return known.length > 0 ? known : [{ name: onlyEndpoint, host: "127.0.0.1", port, ready: true }];
}

/** As it stands in a URL. */
export function authorityOf({ host, port }: Pick<Endpoint, "host" | "port">): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
