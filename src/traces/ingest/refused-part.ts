import { invalidField } from "../../platform/errors.ts";

/** Why a part is refused, in words for its sender. */
export class RefusedPart extends Error {}

/** For bodies that are kept whole or not at all: a refused part refuses the request. */
export async function refuseWhole<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RefusedPart) throw invalidField(["body"], error.message);
    throw error;
  }
}
