import { AppError } from "../../platform/errors.ts";
import { sseResponse } from "../../platform/http/server/sse.ts";

/**
 * Who may not see a run gets that in the stream, as from the open server: the answer begins, and its one event is a
 * 404. It is the same for a run that is another's and for one that never was.
 */
export async function absenceAsEvent(answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== "not_found") throw error;
    const data = JSON.stringify({ error: "NotFound", message: `404: ${error.message}` });
    return sseResponse(async function* () {
      yield [{ event: "error", data }];
    });
  }
}
