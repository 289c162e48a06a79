/** What a server listens on to be reached at the host of its machine, which is an address but for this one name. */
export function listenAddress(host: string): string {
  return host === "localhost" ? "127.0.0.1" : host;
}
