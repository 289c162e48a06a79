/** What is known about an installation that failed. */
export type InstallFacts = {
  installer: "uv" | "pip";
  /** Without credentials. */
  index: string;
  /** `3.12.4` */
  python: string;
};

type Rule = { pattern: RegExp; say(match: RegExpExecArray, facts: InstallFacts): string };

const compilers =
  /(?:No such file or directory: '|command '|Command '\['|unable to execute '|Unknown compiler\(s\): \[\['|linker `)([\w+./-]*(?:gcc|g\+\+|clang|cc|c\+\+|gfortran|rustc|cargo|cmake|ninja|swig|pg_config|mysql_config))\b/;

const unreachable: Rule["say"] = (_match, { index }) =>
  `the package index ${index} cannot be reached from this machine. Check its network, or set UV_DEFAULT_INDEX or PIP_INDEX_URL to one it reaches.`;

const rules: Rule[] = [
  {
    // pip then says that it found no version.
    pattern: /Retry\(total=0,[^\n]*?after connection broken by/,
    say: unreachable,
  },
  {
    pattern: /Because ([\w.[\]-]+) was not found in the package registry/,
    say: ([, name], { index }) =>
      `the package ${name} does not exist at ${index}. Correct its name, or name the index that has it.`,
  },
  {
    pattern: /Could not find a version that satisfies the requirement (\S+) \(from versions: none\)/,
    say: ([, name], { index, python }) =>
      `${index} has no package ${name} for Python ${python}, or cannot be reached. Correct its name, or name the index that has it.`,
  },
  {
    pattern: /there (?:is|are) no versions? of ([\w.[\]-]+)((?:[<>=!~]=?[^\s]+)?)/,
    say: ([, name, range], { index }) =>
      `${index} has no version of ${name} that fits ${range || "what is asked for"}.`,
  },
  {
    pattern: /Could not find a version that satisfies the requirement (\S+) \(from versions: ([^)]*)\)/,
    say: ([, name], { index, python }) => `${index} has no version of ${name} that fits Python ${python}.`,
  },
  {
    pattern: /current Python version \(([\d.]+)\) does not satisfy Python([<>=!~.,\d]+) and (\S+) depends/,
    say: ([, version, range, name]) =>
      `${name} needs Python ${range}, and this is ${version}. Ask for another in python_version.`,
  },
  {
    pattern: /No solution found|ResolutionImpossible|conflicting dependencies/,
    say: () => "the requested versions conflict.",
  },
  {
    pattern: /\b(?:HTTP status (?:client|server) error \((\d{3})|(\d{3}) Client Error|HTTP error (\d{3}))/,
    say: ([, one, two, three], { index }) =>
      `${index} answered ${one ?? two ?? three}. Check the address of the index and its credentials.`,
  },
  {
    pattern:
      /dns error|tcp connect error|error sending request|Failed to establish a new connection|Name or service not known|ConnectTimeoutError|Connection refused|Network is unreachable/,
    say: unreachable,
  },
  {
    pattern: /(?:lockfile|uv\.lock) .{0,80}(?:needs to be updated|outdated)|Failed to parse `uv\.lock`/,
    say: () => "uv.lock does not belong to this pyproject.toml. Run `uv lock` and commit it.",
  },
];

/** One sentence about why packages could not be installed, from the installer's own lines; null: its lines have to do. */
export function explainInstall(lines: readonly string[], facts: InstallFacts): string | null {
  // Older versions of uv break sentences into lines, and draw beside them.
  const text = lines.join("\n");
  const flat = text.replace(/\s*\n[\s│╰├─▶×]*/g, " ");
  const compiler = compilers.exec(flat)?.[1];
  const failed = failedPackage(text);
  if (compiler !== undefined) return needsCompiler(failed ?? "a package", compiler, flat, facts);
  for (const { pattern, say } of rules) {
    const match = pattern.exec(flat);
    if (match) return say(match, facts);
  }
  return failed === null ? null : `${failed} could not be built.`;
}

/** It may be missing, or there and in want of a header or a library. */
function needsCompiler(name: string, compiler: string, flat: string, { python }: InstallFacts): string {
  const lacks = `there is no wheel of ${name} for Python ${python} on ${process.platform} ${process.arch}`;
  const remedy = "Choose a version that has a wheel, or have the operator install";
  const failedWith = /\b(?:failed with exit code|returned non-zero exit status) [1-9]/.test(flat);
  if (!failedWith)
    return `${lacks}, and building it needs ${compiler}, which this machine has not. ${remedy} a compiler (Debian: build-essential, python3-dev) and what else the package needs.`;
  const missing = /fatal error: ([^\s:]+): No such file or directory/.exec(flat)?.[1];
  const why = missing === undefined ? "failed, see below" : `did not find ${missing}`;
  const wanted =
    missing === undefined ? "what the package needs" : `the package of its system that has ${missing}`;
  return `${lacks}, and ${compiler}, which is to build it, ${why}. ${remedy} ${wanted}.`;
}

function failedPackage(text: string): string | null {
  const match =
    /Failed to (?:build|download and build) `([^`]+)`/.exec(text) ??
    /Failed building wheel for (\S+)/.exec(text) ??
    /Failed to build (\S+)\s*$/m.exec(text);
  return match ? match[1]!.replace(/ @ .*$/, "") : null;
}
