import { describe, expect, it } from "vitest";
import { isOpen, progressOf, revisionStatuses, revisionTransitions, statusesBefore } from "./revision.ts";

describe("the transition table", () => {
  it("never leads out of a final status, except where a deploy turns out to have failed", () => {
    const final = revisionStatuses.filter((status) => !isOpen(status));
    const leaving = final.filter((status) => revisionTransitions[status].length > 0);
    expect(leaving).toEqual(["DEPLOYED"]);
    expect(revisionTransitions.DEPLOYED).toEqual(["DEPLOY_FAILED"]);
  });

  it("lets everything on its way be interrupted", () => {
    expect(statusesBefore("INTERRUPTED")).toEqual(revisionStatuses.filter(isOpen));
  });

  it("goes forward only", () => {
    for (const status of revisionStatuses.filter(isOpen)) {
      for (const next of revisionTransitions[status])
        expect(progressOf(next)).toBeGreaterThanOrEqual(progressOf(status));
    }
  });
});
