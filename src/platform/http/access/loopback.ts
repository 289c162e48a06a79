/** `localhost`, `*.localhost`, 127.0.0.0/8 and ::1, as written in a Host header or a URL. */
export function isLoopbackHostname(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
  );
}

/** The hostname of a Host header; null when it is not one. */
export function hostnameOf(host: string): string | null {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]/?#@\s]+)(?::\d{1,5})?$/.exec(host);
  return match ? match[1]! : null;
}

export function isLoopbackOrigin(origin: string): boolean {
  const match = /^https?:\/\/([^/?#@]+)$/i.exec(origin);
  if (!match) return false;
  const hostname = hostnameOf(match[1]!);
  return hostname !== null && isLoopbackHostname(hostname);
}
