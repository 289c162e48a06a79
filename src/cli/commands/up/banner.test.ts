import { expect, test } from "vitest";
import { formatBanner, formatRoleBanner } from "./banner.ts";

const facts = {
  version: "1.2.3",
  url: "http://127.0.0.1:8124",
  workspaceId: "0198a000-0000-7000-8000-000000000000",
  apiKey: "trk_new",
  hasKeyFile: true,
  dataDir: "/data/of treadle",
  database: "embedded" as const,
  notes: [],
  isolation: { kind: "sandbox", message: "Deployed code runs in its own sandbox.", hasProblem: false },
};
const plain = (_style: unknown, text: string) => text;

test("a new key is shown and used in the example", () => {
  const text = formatBanner(facts, plain).join("\n");
  expect(text).toContain("API key       trk_new");
  expect(text).toContain("shown once; kept in /data/of treadle/credentials.json");
  expect(text).toContain('curl http://127.0.0.1:8124/v2/workspaces -H "X-Api-Key: trk_new"');
});

test("an old key is not shown, its place is", () => {
  const text = formatBanner({ ...facts, apiKey: null }, plain).join("\n");
  expect(text).toContain("API key       in /data/of treadle/credentials.json");
  expect(text).toContain("X-Api-Key: YOUR_API_KEY");
});

test("a link that signs in is shown where there is one, and holds no key", () => {
  const signInLink = "http://127.0.0.1:8124/sign-in#code=once";
  const lines = formatBanner({ ...facts, signInLink }, plain);
  expect(lines).toContain("  Console       http://127.0.0.1:8124/");
  expect(lines).toContain(`  Sign in       ${signInLink}`);
  expect(formatBanner(facts, plain).join("\n")).not.toContain("/sign-in");
});

test("notes are shown, and the labels are aligned", () => {
  const lines = formatBanner({ ...facts, notes: ["The database is elsewhere."] }, plain);
  expect(lines).toContain("  note  The database is elsewhere.");
  const columns = lines
    .filter((line) => /^ {2}[A-Z]/.test(line))
    .map((line) => line.search(/(?<= {2})\S+$|http|in \/|trk|\/data|embedded|0198/));
  expect(new Set(columns.filter((column) => column >= 0))).toEqual(new Set([16]));
});

test("where there are no walls around deployed code, that is shown with the way out", () => {
  expect(formatBanner(facts, plain).join("\n")).toContain(
    "Deployed code each deployment in a sandbox of its own",
  );
  const message = "Code of all workspaces shares one user. Install bubblewrap.";
  const isolation = { kind: "none", message, hasProblem: true };
  const text = formatBanner({ ...facts, isolation }, plain).join("\n");
  expect(text).toContain("NOT isolated");
  expect(text).toContain("note  Code of all workspaces shares one user. Install bubblewrap.");
});

test("one of several processes shows its roles and its port, and nothing to sign in to", () => {
  const roles = ["gateway", "worker"];
  const lines = formatRoleBanner({ ...facts, isolation: null, roles, port: 8125, apiKey: null }, plain);
  expect(lines).toContain("  Roles         gateway, worker");
  expect(lines).toContain("  Port          8125");
  const text = lines.join("\n");
  expect(text).not.toContain("Deployed code");
  expect(text).not.toContain("Console");
  expect(text).not.toContain("credentials.json");
});
