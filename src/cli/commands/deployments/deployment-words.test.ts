import { expect, it } from "vitest";
import { placeText, stateCell } from "./deployment-words.ts";

type Given = { active?: string; latest?: string; status?: string; health?: string; wanted?: string };

function textOf({ active, latest, status, health = "none", wanted = "running" }: Given): string {
  const cell = stateCell({
    ...{ active_revision_id: active ?? null, latest_revision_id: latest ?? null },
    ...{ latest_revision_status: status ?? null, desired_state: wanted },
    health: { state: health },
  });
  return typeof cell === "string" ? cell : cell.text;
}

it("says what became of one that never served", () => {
  expect(textOf({})).toBe("not deployed");
  expect(textOf({ latest: "1", status: "BUILDING" })).toBe("building");
  expect(textOf({ latest: "1", status: "BUILD_FAILED" })).toBe("build failed");
  expect(textOf({ latest: "1", status: "INTERRUPTED" })).toBe("interrupted");
  // Of a server that does not tell the status yet.
  expect(textOf({ latest: "1" })).toBe("never served");
});

it("says what serves, and that its update failed or is on its way", () => {
  const serving = { active: "1", health: "serving" };
  expect(textOf({ ...serving, latest: "1", status: "DEPLOYED" })).toBe("serving");
  expect(textOf({ ...serving, latest: "2", status: "DEPLOY_FAILED" })).toBe("serving, update failed");
  expect(textOf({ ...serving, latest: "2", status: "BUILDING" })).toBe("serving, update building");
  expect(textOf({ ...serving, latest: "2", status: "SKIPPED" })).toBe("serving");
  expect(textOf({ active: "1", latest: "1", status: "DEPLOYED", health: "crash_loop" })).toBe("crash loop");
  expect(textOf({ active: "1", latest: "1", status: "DEPLOYED", health: "asleep" })).toBe("asleep");
  expect(textOf({ active: "1", latest: "1", wanted: "stopped", health: "stopped" })).toBe("stopped");
});

it("names the place it runs on", () => {
  const at = (kind: string, name: string | null = null) => placeText({ runs_on: { kind, name } });
  expect(["process", "docker", "kubernetes", "moon"].map((kind) => at(kind))).toEqual([
    ...["this server's host", "Docker", "Kubernetes", "moon"],
  ]);
  expect(at("listener", "factory")).toBe("the listener factory");
  expect(at("listener")).toBe("a listener that was removed");
  expect(placeText({})).toBeNull();
});
