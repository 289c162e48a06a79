import type { Deployment } from "../../client/answers.ts";
import { type Cell, statusStyle } from "../../terminal/table.ts";

type Stated = Pick<
  Deployment,
  "desired_state" | "active_revision_id" | "latest_revision_id" | "latest_revision_status" | "health"
>;

export const isAtRest = ({ health }: Pick<Stated, "health">) =>
  health.state === "asleep" || health.state === "waking";

/** States of a server that need no other word than their own. */
const styles: Record<string, "dim" | "yellow" | "red"> = {
  ...{ asleep: "dim", waking: "dim", starting: "yellow", restarting: "yellow", unstable: "yellow" },
  ...{ away: "yellow", crash_loop: "red" },
};

/** `serving`, `build failed`, `serving, update failed`: what serves, and what became of the newest revision. */
export function stateCell(each: Stated): Cell {
  const { state } = each.health;
  if (each.desired_state === "stopped") return { text: "stopped", style: "yellow" };
  const update = each.latest_revision_status ?? null;
  if (each.active_revision_id == null) {
    if (each.latest_revision_id == null) return { text: "not deployed", style: "dim" };
    return { text: wordsOf(update ?? "never served"), style: statusStyle(update ?? "") };
  }
  const style = styles[state];
  const base = style ? { text: wordsOf(state), style } : { text: "serving", style: "green" as const };
  const isOther = each.latest_revision_id !== each.active_revision_id;
  if (!isOther || update === null) return base;
  if (update.endsWith("FAILED")) return { text: `${base.text}, update failed`, style: "red" };
  return open.has(update) ? { text: `${base.text}, update ${wordsOf(update)}`, style: "yellow" } : base;
}

const places: Record<string, string> = {
  process: "this server's host",
  docker: "Docker",
  kubernetes: "Kubernetes",
};

/** Null for a server that does not tell it. */
export function placeText({ runs_on: place }: Pick<Deployment, "runs_on">): string | null {
  if (!place) return null;
  if (place.kind !== "listener") return places[place.kind] ?? place.kind;
  return place.name ? `the listener ${place.name}` : "a listener that was removed";
}

const open = new Set(["CREATING", "QUEUED", "AWAITING_BUILD", "BUILDING", "AWAITING_DEPLOY", "DEPLOYING"]);

const wordsOf = (status: string) => status.toLowerCase().replaceAll("_", " ");
