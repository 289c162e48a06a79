import type { ErrorCode, ErrorResponse } from "@langchain/protocol";
import { AppError, type ErrorCode as AppErrorCode } from "../../platform/errors.ts";
import { errorEnvelope, ProtocolError } from "../../platform/streaming-protocol/protocol-error.ts";

const codeByAppCode: Partial<Record<AppErrorCode, ErrorCode>> = {
  "checkpoint.not_found": "no_such_checkpoint",
  "run.not_found": "no_such_run",
  "thread.not_found": "no_such_run",
};

/** Undefined for a defect, whose text is for the log alone. */
export function protocolErrorOf(thrown: unknown): ProtocolError | undefined {
  if (thrown instanceof ProtocolError) return thrown;
  if (!(thrown instanceof AppError)) return undefined;
  const { code, kind } = thrown;
  const known = codeByAppCode[code];
  if (known) return new ProtocolError(known, thrown.message);
  if (kind === "forbidden" || kind === "unauthenticated")
    return new ProtocolError("permission_denied", thrown.message);
  if (kind === "internal" || kind === "unavailable" || kind === "bad_gateway")
    return new ProtocolError("unknown_error", thrown.message);
  return new ProtocolError("invalid_argument", thrown.message);
}

/** Sent first to a client that resumes after an event whose successors are partly deleted. */
export function gapEnvelope(since: number, prunedSeq: number): ErrorResponse {
  return errorEnvelope(
    null,
    new ProtocolError(
      "invalid_argument",
      `Events ${since + 1} to ${prunedSeq} of this thread are no longer kept. The stream starts after them; read the thread's state to catch up.`,
    ),
  );
}
