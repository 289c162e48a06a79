import type { AgentConfig } from "../../config/index.ts";
import type { Output } from "../terminal/output.ts";

export type AgentBannerFacts = {
  version: string;
  url: string;
  graphs: string[];
  broken: Record<string, string>;
  notes: string[];
  database: "embedded" | "external";
  config: Pick<AgentConfig, "configPath" | "dataDir" | "authRequired">;
  /** Set where its files are watched. */
  watched?: { folder: string } | undefined;
  /** The link that signs a browser in to the studio, once. */
  studio?: string | undefined;
};

/** What a person needs after a start: where it is, what it serves, and what it does not. */
export function formatAgentBanner(facts: AgentBannerFacts, paint: Output["paint"]): string[] {
  const { config, url } = facts;
  const rows: [string, string][] = [
    ["Agent server", paint("cyan", url)],
    ...(facts.studio ? ([["Studio", paint("cyan", facts.studio)]] as [string, string][]) : []),
    ["Docs", paint("cyan", `${url}/docs`)],
    ["Project", config.configPath],
    ["Graphs", facts.graphs.join(", ") || "none"],
    ["Database", facts.database === "embedded" ? `embedded PostgreSQL in ${config.dataDir}` : "external"],
    ["Access", config.authRequired ? "X-Api-Key, or the project's own auth" : "open on this machine"],
    ...(facts.watched
      ? ([["Reloads", `when a file in ${facts.watched.folder} changes`]] as [string, string][])
      : []),
  ];
  const problems = Object.values(facts.broken);
  return [
    `${paint(["bold", "green"], "Treadle agent")} ${facts.version} is ready`,
    "",
    ...rows.map(([label, value]) => `  ${paint("dim", label.padEnd(14))}${value}`),
    ...(problems.length === 0
      ? []
      : ["", ...problems.map((text) => `  ${paint("red", "not served")}  ${indented(text)}`)]),
    ...(facts.notes.length === 0
      ? []
      : ["", ...facts.notes.map((note) => `  ${paint("yellow", "note")}  ${note}`)]),
    "",
    `  ${paint("dim", "Ctrl-C stops it.")}`,
  ];
}

/** The reason of a graph may have several lines, such as those of a compiler. */
function indented(text: string): string {
  return text.replaceAll("\n", `\n${" ".repeat(14)}`);
}
