import { join } from "node:path";
import type { Output } from "../../terminal/output.ts";

export type BannerFacts = {
  version: string;
  url: string;
  workspaceId: string;
  /** Null when the key was made on an earlier start: only its hash is stored. */
  apiKey: string | null;
  /** False where another server of the database made the key: a note says where it is. */
  hasKeyFile: boolean;
  /** Signs in without a key, once. */
  signInLink?: string | undefined;
  dataDir: string;
  database: "embedded" | "external";
  /** Processes beside this one that execute its runs. */
  workerProcesses?: number;
  notes: string[];
  /** What stands between deployed code and the rest of this machine; null where none runs. */
  isolation: { kind: string; message: string; hasProblem: boolean } | null;
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
    ["API key", keyText(facts, credentials, paint)],
    ...(facts.apiKey === null ? [] : ([["", `shown once; kept in ${credentials}`]] as [string, string][])),
    ["Data folder", facts.dataDir],
    ["Database", facts.database === "embedded" ? "embedded PostgreSQL" : "external (DATABASE_URL)"],
    ...workersRow(facts),
    ...isolationRow(facts),
  ];
  return [
    `${paint(["bold", "green"], "Treadle")} ${facts.version} is ready`,
    "",
    ...formatRows(rows, paint),
    ...formatNotes(facts, paint),
    "",
    "  Try it:",
    `    curl ${facts.url}/v2/workspaces -H "X-Api-Key: ${facts.apiKey ?? "YOUR_API_KEY"}"`,
    "",
    `  ${paint("dim", "Ctrl-C stops it.")}`,
  ];
}

function keyText({ apiKey, hasKeyFile }: BannerFacts, file: string, paint: Output["paint"]): string {
  if (apiKey !== null) return paint("green", apiKey);
  return hasKeyFile ? `in ${file}` : "made by another server, see the note";
}

type RoleFacts = BannerFacts & { port: number; roles: readonly string[] };

/** For one of several processes: what it does and where it listens. It has no sign-in. */
export function formatRoleBanner(facts: RoleFacts, paint: Output["paint"]): string[] {
  const rows: [string, string][] = [
    ["Roles", paint("cyan", facts.roles.join(", "))],
    ["Port", String(facts.port)],
    ["Public URL", paint("cyan", facts.url)],
    ["Workspace", facts.workspaceId],
    ["Data folder", facts.dataDir],
    ...isolationRow(facts),
  ];
  return [
    `${paint(["bold", "green"], "Treadle")} ${facts.version} is ready`,
    "",
    ...formatRows(rows, paint),
    ...formatNotes(facts, paint),
    "",
    `  ${paint("dim", "Ctrl-C stops it.")}`,
  ];
}

function workersRow({ workerProcesses: count = 0 }: BannerFacts): [string, string][] {
  if (count === 0) return [];
  return [["Runs", `executed by ${count === 1 ? "a worker process" : `${count} worker processes`}`]];
}

function isolationRow({ isolation }: BannerFacts): [string, string][] {
  return isolation ? [["Deployed code", isolationRows[isolation.kind] ?? isolation.kind]] : [];
}

function formatRows(rows: readonly [string, string][], paint: Output["paint"]): string[] {
  return rows.map(([label, value]) => `  ${paint("dim", label.padEnd(14))}${value}`.trimEnd());
}

function formatNotes({ notes: given, isolation }: BannerFacts, paint: Output["paint"]): string[] {
  const notes = isolation?.hasProblem ? [...given, isolation.message] : given;
  return notes.length === 0 ? [] : ["", ...notes.map((note) => `  ${paint("yellow", "note")}  ${note}`)];
}
