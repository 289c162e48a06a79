import type { AppRoute } from "./load-report.ts";

/** Routes that the framework adds on its own. The server serves these itself, for all of its routes. */
const serversOwn = new Set(["/docs", "/docs/oauth2-redirect", "/openapi.json"]);

/** Whether a path is one of the application's. A method that it does not have there is its to refuse. */
export function routeMatcher(routes: readonly AppRoute[]): (path: string) => boolean {
  const patterns = routes
    .filter(({ kind, path }) => kind !== "websocket" && !serversOwn.has(path))
    .map(({ path, kind }) => patternOf(path, kind === "mount"));
  return (path) => patterns.some((pattern) => pattern.test(path));
}

const convertors: Readonly<Record<string, string>> = {
  path: ".*",
  int: "[0-9]+",
  float: "[0-9]+(?:\\.[0-9]+)?",
};

/** As in `/files/{name}/{rest:path}`. */
function patternOf(path: string, isMount: boolean): RegExp {
  const source = path
    .replace(/\/$/, isMount ? "" : "/")
    .split(/(\{[^}]*\})/)
    .map((part) => {
      if (!part.startsWith("{")) return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const [, convertor = "str"] = part.slice(1, -1).split(":");
      return convertors[convertor] ?? "[^/]+";
    })
    .join("");
  return new RegExp(isMount ? `^${source}(?:/|$)` : `^${source}$`);
}
