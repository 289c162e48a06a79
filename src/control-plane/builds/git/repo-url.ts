/**
 * Where a repository is. `text` is what git is given: built from the parsed parts, never the text a user typed, so that
 * git cannot parse another host from it than the one that was checked.
 */
export type RepoUrl =
  | { kind: "http"; url: URL; text: string }
  | { kind: "ssh"; user: string | null; host: string; port: number; path: string; text: string }
  | { kind: "local"; path: string; text: string };

type Problem = { problem: string };

const hostName = "[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9.])?";
const ipLiteral = String.raw`\[[0-9A-Fa-f:.]+\]`;
const http = new RegExp(String.raw`^https?://(?:${hostName}|${ipLiteral})(?::\d{1,5})?(?:/[^?#]*)?$`, "i");
const ssh = new RegExp(
  String.raw`^ssh://(?:([A-Za-z0-9_][A-Za-z0-9._-]*)@)?(${hostName}|${ipLiteral})(?::(\d{1,5}))?(/[^?#]+)$`,
  "i",
);
const scp = new RegExp(`^(?:([A-Za-z0-9_][A-Za-z0-9._-]*)@)?(${hostName}):(?!//)([^-?#].*)$`);

const forms =
  "The repository address must be https://…, ssh://…, user@host:path, or on this machine file:///… or an absolute path.";

/** The parts of a repository address, or what is wrong with it. */
export function parseRepoUrl(text: string): RepoUrl | Problem {
  const strange = strangeCharacters(text);
  if (strange) return { problem: strange };
  if (/^https?:/i.test(text)) return parseHttp(text);
  if (/^ssh:/i.test(text)) return parseSsh(text);
  if (/^file:/i.test(text)) return parseFile(text);
  // git would take `name::rest` for a program to start.
  if (/^[A-Za-z0-9+.-]+::/.test(text)) return { problem: forms };
  if (text.startsWith("/")) return { kind: "local", path: text, text };
  const found = scp.exec(text);
  if (!found) return { problem: forms };
  const [, user = null, host, path] = found;
  return {
    kind: "ssh",
    user,
    host: host!.toLowerCase(),
    port: 22,
    path: path!,
    text: `${user === null ? "" : `${user}@`}${host!.toLowerCase()}:${path!}`,
  };
}

/** Programs disagree about what these mean in an address, and one of them is the guard. */
function strangeCharacters(text: string): string | null {
  if (text.startsWith("-") || /[\s\p{C}]/u.test(text)) {
    return "The repository address must not start with - or contain spaces or control characters.";
  }
  if (text.includes("\\")) return "The repository address must not contain backslashes. Write / instead.";
  return null;
}

function parseHttp(text: string): RepoUrl | Problem {
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1] ?? "";
  if (authority.includes("@")) {
    return {
      problem:
        "The repository address must not contain a user name or a token: create an integration for it and send its id as integration_id.",
    };
  }
  if (/[^\x21-\x7e]|%/.test(authority)) {
    return { problem: "The host of the repository address must be plain letters, digits, dots and hyphens." };
  }
  if (!http.test(text) || !URL.canParse(text)) {
    return { problem: "The repository address is not a valid URL, or has a query or fragment." };
  }
  const url = new URL(text);
  return { kind: "http", url, text: url.href };
}

function parseSsh(text: string): RepoUrl | Problem {
  const found = ssh.exec(text);
  const port = Number(found?.[3] ?? 22);
  if (!found || port < 1 || port > 65_535) {
    return { problem: "The repository address is not a valid ssh URL: write ssh://user@host:port/path." };
  }
  const [, user = null, given, , path] = found;
  const host = given!.toLowerCase();
  const shown = `ssh://${user === null ? "" : `${user}@`}${host}${found[3] === undefined ? "" : `:${port}`}${path!}`;
  return { kind: "ssh", user, host, port, path: path!, text: shown };
}

function parseFile(text: string): RepoUrl | Problem {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const path = url && url.search === "" && url.hash === "" ? decoded(url.pathname) : undefined;
  if (url?.hostname !== "" || !path) return { problem: "A file address must be file:///path." };
  return { kind: "local", path, text: path };
}

function decoded(path: string): string | undefined {
  try {
    const plain = decodeURIComponent(path);
    return strangeCharacters(plain) === null ? plain : undefined;
  } catch {
    return undefined;
  }
}

/** The name of a host as addresses are looked up by. */
export function hostOf(repository: Exclude<RepoUrl, { kind: "local" }>): string {
  return repository.kind === "http" ? repository.url.hostname : repository.host;
}

/** A commit as git names it; the only thing besides a ref that it is ever asked for. */
export const commitPattern = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** A branch, tag or commit as git may be given it; null when it is none of them. */
export function refProblem(ref: string): string | null {
  if (ref.startsWith("-") || ref.length > 255)
    return "must not start with - or be longer than 255 characters";
  // git's own rules for names, and the characters that mean something in a refspec.
  if (/[\s~^:?*[\\\p{Cc}]|\.\.|@\{|\/\/|\.lock(?:\/|$)|(?:^|\/)\.|\/$|^\/|\.$|^@?$/u.test(ref)) {
    return "is not a branch, tag or commit name";
  }
  return null;
}

/** A path inside the repository, or why it is not. */
export function configPathProblem(path: string): string | null {
  if (path.startsWith("/") || /[\0\\]/.test(path))
    return "must be a path inside the repository, for example langgraph.json";
  if (path.split("/").includes("..")) return "must not contain ..";
  if (!path.endsWith(".json")) return "must name a JSON file, for example langgraph.json";
  return null;
}
