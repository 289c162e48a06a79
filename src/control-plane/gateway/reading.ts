/**
 * Requests to an agent server that only read, although they are posted: a viewer may send them. The server behind does
 * not know the caller's role, so what is not named here counts as a change: a project's own routes, and `/a2a/{id}`,
 * where a graph may be called `search`. Projects may have their API below a prefix.
 */
const reads = [
  /\/(?:assistants|threads|runs\/crons)\/(?:search|count)$/,
  /\/assistants\/[^/]+\/versions$/,
  /\/threads\/[^/]+\/(?:history|state\/checkpoint|stream|stream\/events)$/,
  /\/store\/(?:items\/search|namespaces)$/,
];

export function onlyReads(method: string, path: string): boolean {
  if (method === "GET" || method === "HEAD") return true;
  return method === "POST" && reads.some((pattern) => pattern.test(path));
}
