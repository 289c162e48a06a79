import type { Answers } from "../api/wire.ts";
import { places } from "./navigation.ts";

export type Found = Answers["search_workspace"]["resources"][number];
export type Choice = { id: string; kind: string; title: string; detail: string; path: string };

const pages: readonly Omit<Choice, "id" | "kind">[] = [
  ...places.map(({ href, label, letter }) => ({ title: label, detail: `g ${letter}`, path: href })),
  { title: "New deployment", detail: "", path: "/deployments/new" },
  { title: "Chat", detail: "", path: "/chat" },
  { title: "API reference", detail: "", path: "/docs" },
  { title: "Members and invitations", detail: "settings", path: "/settings?tab=members" },
  { title: "Models and their keys", detail: "settings", path: "/settings?tab=models" },
  { title: "Sessions", detail: "settings", path: "/settings?tab=sessions" },
  { title: "Workspaces", detail: "settings", path: "/settings?tab=workspaces" },
  { title: "Audit log", detail: "settings", path: "/settings?tab=audit" },
  { title: "Annotation queues", detail: "evaluation", path: "/queues" },
  { title: "Export destinations", detail: "", path: "/exports/destinations" },
];

/** Pages by their name, then what the server found. */
export function choicesFor(text: string, found: readonly Found[]): Choice[] {
  const words = text.trim().toLowerCase();
  const named = pages.filter(({ title }) => title.toLowerCase().includes(words));
  return [
    ...named.map((page) => ({ ...page, kind: "page", id: `page ${page.path}` })),
    ...found.map((each) => ({ ...each, id: `${each.kind} ${each.id}` })),
  ];
}

/** Where the arrow keys lead: round and round. */
export function step(current: number, by: 1 | -1, count: number): number {
  return count === 0 ? 0 : (current + by + count) % count;
}
