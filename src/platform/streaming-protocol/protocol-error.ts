import type { ErrorCode, ErrorResponse } from "@langchain/protocol";

/** A command that cannot be done, in the protocol's own words. */
export class ProtocolError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = "ProtocolError";
    this.code = code;
  }
}

/** The HTTP status stays 200, as the protocol wants it. */
export function errorEnvelope(id: number | null, error: ProtocolError): ErrorResponse {
  return { type: "error", id, error: error.code, message: error.message };
}
