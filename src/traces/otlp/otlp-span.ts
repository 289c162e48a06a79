/** A span as either encoding gives it. Ids are lower-case hex; a missing parent is empty. */
export type OtlpSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** Nanoseconds since 1970; zero when not sent. */
  startNanos: bigint;
  endNanos: bigint;
  attributes: OtlpAttributes;
  events: { name: string; timeNanos: bigint; attributes: OtlpAttributes }[];
  /** 0 unset, 1 ok, 2 error. */
  statusCode: number;
  statusMessage: string;
  resource: OtlpAttributes;
};

export type OtlpAttributes = Record<string, unknown>;
