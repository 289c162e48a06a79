/** What is wrong with what was typed, before the server is asked; null when nothing is. */

export function nameProblem(name: string): string | null {
  if (name.trim() === "") return "Give it a name.";
  if (name.trim().length > 128) return "At most 128 characters.";
  if (/[\p{Cc}/\\]/u.test(name)) return "No slashes, please.";
  return null;
}

export function repoProblem(url: string): string | null {
  const text = url.trim();
  if (text === "") return "Paste the address that you would clone.";
  if (/\s/.test(text) || text.startsWith("-")) return "An address has no spaces and does not start with -.";
  if (/^https?:\/\//i.test(text)) {
    if (!URL.canParse(text)) return "This is not a complete address.";
    const parsed = new URL(text);
    if (parsed.username !== "" || parsed.password !== "") {
      return "Leave user name and token out of the address. For private repositories, create an integration.";
    }
    return parsed.pathname.length > 1 ? null : "The address ends before the repository's name.";
  }
  if (/^(ssh|file):\/\//i.test(text)) return URL.canParse(text) ? null : "This is not a complete address.";
  if (text.startsWith("/")) return null;
  if (/^(?:[\w.-]+@)?[A-Za-z0-9.-]+:(?!\/\/).+$/.test(text)) return null;
  return "An address starts with https:// or ssh://, or looks like git@host:path.";
}

export function refProblem(ref: string): string | null {
  const text = ref.trim();
  if (text === "") return "Name a branch, a tag or a commit.";
  if (text.startsWith("-") || /[\s~^:?*[\\\p{Cc}]|\.\.|@\{|\/\/|\.lock$|\/$|^\/|\.$/u.test(text)) {
    return "This is not the name of a branch, tag or commit.";
  }
  return null;
}

export function configPathProblem(path: string): string | null {
  const text = path.trim();
  if (text === "") return "Name the configuration file, for example langgraph.json.";
  if (text.startsWith("/") || text.includes("\\") || text.split("/").includes("..")) {
    return "A path inside the repository, for example agents/langgraph.json.";
  }
  return text.endsWith(".json") ? null : "It must be a JSON file.";
}

export function secretNameProblem(name: string, others: readonly string[]): string | null {
  if (name === "") return null;
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return "Letters, digits and underscores, not starting with a digit.";
  if (others.includes(name)) return "This name already exists.";
  return null;
}

/** What people paste from a .env file; null when it is not that. */
export function parseEnvFile(text: string): { name: string; value: string }[] | null {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  if (lines.length === 0) return null;
  const found = lines.map((line) => /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)$/.exec(line));
  if (found.some((match) => match === null)) return null;
  return found.map((match) => ({
    name: match![1]!,
    value: match![2]!.trim().replace(/^(["'])(.*)\1$/, "$2"),
  }));
}

/** A name made from the repository's. */
export function suggestName(repoUrl: string): string {
  return (
    repoUrl
      .trim()
      .replace(/\/+$/, "")
      .split(/[/:]/)
      .at(-1)
      ?.replace(/\.git$/, "") ?? ""
  );
}
