import { join } from "node:path";
import type { Output } from "../../terminal/output.ts";

export type BannerFacts = {
  version: string;
  url: string;
  workspaceId: string;
  /** Null when the key was made on an earlier start: only its hash is stored. */
  apiKey: string | null;
  /** Signs in without a key, once. */
  signInLink?: string | undefined;
  dataDir: string;
  database: "embedded" | "external";
  notes: string[];
  /** What stands between deployed code and the rest of this machine. */
  isolation: { kind: string; message: string };
};

const isolationRows: Record<string, string> = {
  sandbox: "each deployment in a sandbox of its own",
  containers: "each deployment in a container of its own",
  users: "each deployment as a user of its own, without a sandbox",
  none: "NOT isolated: runs as the platform's own user",
};

/** What a person needs after a start, most wanted first. */
export function formatBanner(facts: BannerFacts, paint: Output["paint"]): string[] {
  const credentials = join(facts.dataDir, "credentials.json");
  const { signInLink } = facts;
  const rows: [string, string][] = [
    ["Console", paint("cyan", `${facts.url}/`)],
    ...(signInLink === undefined
      ? []
      : ([
          ["Sign in", paint("cyan", signInLink)],
          ["", "works once, for 15 minutes; `treadle login-link` makes another"],
        ] as [string, string][])),
    ["Chat", paint("cyan", `${facts.url}/chat`)],
    ["API", paint("cyan", `${facts.url}/v2`)],
    ["Agent server", paint("cyan", facts.url)],
    ["Traces", paint("cyan", `${facts.url}/api/v1`)],
    ["Docs", paint("cyan", `${facts.url}/docs`)],
    ["", ""],
    ["Workspace", facts.workspaceId],
    ["API key", facts.apiKey === null ? `in ${credentials}` : paint("green", facts.apiKey)],
    ...(facts.apiKey === null ? [] : ([["", `shown once; kept in ${credentials}`]] as [string, string][])),
    ["Data folder", facts.dataDir],
    ["Database", facts.database === "embedded" ? "embedded PostgreSQL" : "external (DATABASE_URL)"],
    ["Deployed code", isolationRows[facts.isolation.kind] ?? facts.isolation.kind],
  ];
  const walled = facts.isolation.kind === "sandbox" || facts.isolation.kind === "containers";
  const notes = walled ? facts.notes : [...facts.notes, facts.isolation.message];
  return [
    `${paint(["bold", "green"], "Treadle")} ${facts.version} is ready`,
    "",
    ...rows.map(([label, value]) => `  ${paint("dim", label.padEnd(14))}${value}`.trimEnd()),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => `  ${paint("yellow", "note")}  ${note}`)]),
    "",
    "  Try it:",
    `    curl ${facts.url}/v2/workspaces -H "X-Api-Key: ${facts.apiKey ?? "YOUR_API_KEY"}"`,
    "",
    `  ${paint("dim", "Ctrl-C stops it.")}`,
  ];
}
