import { AppError, invalidField } from "../../platform/errors.ts";

/** Why a part is refused, in words for its sender. */
export class RefusedPart extends Error {}

/** What its sender may not write: a credential of one tracing project reaches no other. */
export class ForbiddenPart extends RefusedPart {}

/** For bodies that are kept whole or not at all: a refused part refuses the request. */
export async function refuseWhole<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ForbiddenPart) throw otherProject(error.message);
    if (error instanceof RefusedPart) throw invalidField(["body"], error.message);
    throw error;
  }
}

export function otherProject(message: string): AppError {
  return new AppError({ code: "traces.other_project", kind: "forbidden", message });
}
