export type RepoUrl =
  | { kind: "http"; url: URL }
  | { kind: "ssh"; host: string; text: string }
  | { kind: "local"; path: string };

/** What a repository address means, or the sentence that says what is wrong with it. */
export function parseRepoUrl(text: string): RepoUrl | { problem: string } {
  if (text.startsWith("-") || /[\s\0]/.test(text)) {
    return { problem: "The repository address must not start with - or contain spaces." };
  }
  if (/^https?:\/\//i.test(text)) return parseHttp(text);
  if (/^ssh:\/\//i.test(text)) return parseSsh(text);
  if (/^file:\/\//i.test(text)) return parseFile(text);
  if (text.startsWith("/")) return { kind: "local", path: text };
  const scp = /^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):(?!\/\/)(.+)$/.exec(text);
  if (scp) return { kind: "ssh", host: scp[1]!, text };
  return {
    problem:
      "The repository address must be https://…, ssh://…, user@host:path, or on this machine file:///… or an absolute path.",
  };
}

function parseHttp(text: string): RepoUrl | { problem: string } {
  const url = parseUrl(text);
  if (!url) return { problem: "The repository address is not a valid URL." };
  if (url.username !== "" || url.password !== "") {
    return {
      problem:
        "The repository address must not hold a user name or a token: create an integration for it and name that in integration_id.",
    };
  }
  return { kind: "http", url };
}

function parseSsh(text: string): RepoUrl | { problem: string } {
  const url = parseUrl(text);
  if (!url || url.hostname === "" || url.hostname.startsWith("-")) {
    return { problem: "The repository address is not a valid ssh URL." };
  }
  if (url.password !== "") return { problem: "The repository address must not hold a password." };
  return { kind: "ssh", host: url.hostname, text };
}

function parseFile(text: string): RepoUrl | { problem: string } {
  const url = parseUrl(text);
  if (url?.hostname !== "") return { problem: "A file address must be file:///path." };
  return { kind: "local", path: decodeURIComponent(url.pathname) };
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** A branch, tag or commit as git may be given it; null when it is none of them. */
export function refProblem(ref: string): string | null {
  if (ref.startsWith("-") || ref.length > 255)
    return "must not start with - or be longer than 255 characters";
  // git's own rules for names, and the characters that mean something in a refspec.
  if (/[\s~^:?*[\\\p{Cc}]|\.\.|@\{|\/\/|\.lock$|\/$|^\/|\.$/u.test(ref)) {
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
