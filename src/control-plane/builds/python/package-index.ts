/** Where packages come from. */
export type PackageIndex = {
  url: string | null;
  extraUrls: string[];
  findLinks: string[];
  trustedHosts: string[];
  withoutIndex: boolean;
};

export const usualIndex = "https://pypi.org/simple";

const none: PackageIndex = { url: null, extraUrls: [], findLinks: [], trustedHosts: [], withoutIndex: false };

/** A pip.conf, of which the sections for all commands and for `install` count. */
export function parsePipConfig(text: string): PackageIndex {
  const values = new Map<string, string>();
  let section = "";
  let key = "";
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;].*)?$/.test(line)) continue;
    const header = /^\[([^\]]+)\]/.exec(line);
    const entry = /^([A-Za-z_-]+)\s*[=:]\s*(.*)$/.exec(line);
    if (header) section = header[1]!.trim().toLowerCase();
    else if (entry) {
      key = entry[1]!.toLowerCase().replaceAll("_", "-");
      if (section === "global" || section === "install") values.set(key, entry[2]!.trim());
    } else if (/^\s/.test(line) && values.has(key)) values.set(key, `${values.get(key)} ${line.trim()}`);
  }
  return fromValues((name) => values.get(name));
}

/** The names pip and uv read from the environment; uv's come first where both are set. */
export function indexOfEnvironment(environment: Record<string, string>): PackageIndex {
  const pip = fromValues((name) => environment[`PIP_${name.toUpperCase().replaceAll("-", "_")}`]);
  const { UV_DEFAULT_INDEX, UV_INDEX_URL, UV_INDEX, UV_EXTRA_INDEX_URL, UV_FIND_LINKS } = environment;
  const named = words(UV_INDEX).map((each) => each.replace(/^[A-Za-z0-9_.-]+=/, ""));
  const extra = [...named, ...words(UV_EXTRA_INDEX_URL)];
  return {
    url: UV_DEFAULT_INDEX?.replace(/^[A-Za-z0-9_.-]+=/, "") ?? UV_INDEX_URL ?? pip.url,
    extraUrls: extra.length > 0 ? extra : pip.extraUrls,
    findLinks: UV_FIND_LINKS ? UV_FIND_LINKS.split(/[,\s]+/).filter(Boolean) : pip.findLinks,
    trustedHosts: [...new Set([...words(environment.UV_INSECURE_HOST), ...pip.trustedHosts])],
    withoutIndex: isOn(environment.UV_NO_INDEX) || pip.withoutIndex,
  };
}

/** Later ones win: the machine's files, its environment, then what the project brings. */
export function mergeIndexes(...indexes: readonly PackageIndex[]): PackageIndex {
  return indexes.reduce(
    (known, next) => ({
      url: next.url ?? known.url,
      extraUrls: [...new Set([...known.extraUrls, ...next.extraUrls])],
      findLinks: [...new Set([...known.findLinks, ...next.findLinks])],
      trustedHosts: [...new Set([...known.trustedHosts, ...next.trustedHosts])],
      withoutIndex: known.withoutIndex || next.withoutIndex,
    }),
    none,
  );
}

/** The same for both installers, in the names each of them reads. */
export function indexEnvironment(index: PackageIndex): Record<string, string> {
  const named = {
    ...(index.url === null ? {} : { PIP_INDEX_URL: index.url, UV_DEFAULT_INDEX: index.url }),
    ...both("PIP_EXTRA_INDEX_URL", "UV_INDEX", index.extraUrls, " "),
    ...both("PIP_FIND_LINKS", "UV_FIND_LINKS", index.findLinks, ","),
    ...both("PIP_TRUSTED_HOST", "UV_INSECURE_HOST", index.trustedHosts, " "),
  };
  return index.withoutIndex ? { ...named, PIP_NO_INDEX: "1", UV_NO_INDEX: "1" } : named;
}

/** Older names of uv's, which would speak against those above. */
const olderNames = new Set(["UV_INDEX_URL", "UV_EXTRA_INDEX_URL"]);

export function withoutOlderNames(environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !olderNames.has(name)));
}

/** Its address for people, without a password that may be in it. */
export function describeIndex({ url, extraUrls, withoutIndex, findLinks }: PackageIndex): string {
  const all = withoutIndex ? findLinks : [url ?? usualIndex, ...extraUrls];
  return all.map(withoutCredentials).join(" and ");
}

export function withoutCredentials(text: string): string {
  return text.replace(/(\w+:\/\/)[^/@\s]+@/g, "$1");
}

function both(pip: string, uv: string, list: readonly string[], between: string): Record<string, string> {
  return list.length === 0 ? {} : { [pip]: list.join(" "), [uv]: list.join(between) };
}

function fromValues(read: (name: string) => string | undefined): PackageIndex {
  return {
    url: read("index-url") ?? null,
    extraUrls: words(read("extra-index-url")),
    findLinks: words(read("find-links")),
    trustedHosts: words(read("trusted-host")),
    withoutIndex: isOn(read("no-index")),
  };
}

function words(text: string | undefined): string[] {
  return (text ?? "").split(/\s+/).filter((word) => word !== "");
}

function isOn(text: string | undefined): boolean {
  return /^(1|true|yes|on)$/i.test(text ?? "");
}
