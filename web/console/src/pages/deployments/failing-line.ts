import type { LogLine } from "../../api/wire.ts";
import type { Revision } from "./deployment-api.ts";
import type { Failure } from "./failure-place.ts";

/** The value of `line` in the address for the line that says why a revision failed. Others are ids of lines. */
export const failureLine = "failure";

/** The log in which a revision failed. */
export function failedLog({ status }: Pick<Revision, "status">): "build" | "server" {
  return status === "DEPLOY_FAILED" ? "server" : "build";
}

export function failureHref(deploymentId: string, revision: Pick<Revision, "id" | "status">): string {
  return `/deployments/${deploymentId}/revisions/${revision.id}?tab=${failedLog(revision)}&line=${failureLine}`;
}

type Wanted = Pick<Failure, "file" | "line" | "reason" | "output">;

/** The id of the line that names the place, or else the reason; null where no line does. */
export function findFailingLine(lines: readonly LogLine[], failure: Wanted): string | null {
  const tests = [placeTest(failure), textTest(failure.reason), textTest(failure.output.at(-1) ?? "")];
  // What the project printed comes before what the platform repeats of it.
  const own = lines.filter(({ origin }) => origin === "project");
  for (const test of tests.filter((each) => each !== null)) {
    const found = own.find(test) ?? lines.find(test);
    if (found) return found.id;
  }
  return null;
}

type Test = (line: LogLine) => boolean;

/** As compilers and interpreters write it: `a.ts:15`, `a.ts(15`, `a.py", line 15`, `a.py, line 15`. */
function placeTest({ file, line }: Wanted): Test | null {
  if (file === null) return null;
  const name = file.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const place = new RegExp(line === null ? name : `${name}(?::|\\(|"?, line )${line}(?!\\d)`);
  return ({ message }) => place.test(message);
}

function textTest(text: string): Test | null {
  const wanted = text.trim();
  return wanted === "" ? null : ({ message }) => message.includes(wanted);
}
