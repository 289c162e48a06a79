import type { ReactNode } from "react";
import { ApiError } from "../api/client.ts";
import { ErrorState, Skeleton } from "./states.tsx";

export type ListStateProps<Row> = {
  /** What was asked. An answer that is there stays, also when asking again fails. */
  of: { data: unknown; error: unknown; failureCount: number; failureReason: unknown; refetch(): unknown };
  /** Undefined as long as they are not known. */
  rows: readonly Row[] | undefined;
  /** Of the bars that stand for the rows to come. */
  lines: number;
  height?: string;
  /** In place of no rows; without it the list itself shows that it is empty. */
  empty?: ReactNode;
  children(rows: readonly Row[]): ReactNode;
};

/** A list, or what is shown instead while it is loading, failed or empty. */
export function ListState<Row>({ of, rows, lines, height, empty, children }: ListStateProps<Row>) {
  if (of.error && !of.data) return <ErrorState error={of.error} retry={() => of.refetch()} />;
  if (!rows) {
    // The request is repeated automatically until it succeeds; bars alone would not show what it waits for.
    if (of.failureCount > 1 && isNotReady(of.failureReason))
      return <ErrorState error={of.failureReason} note="This page tries again by itself." />;
    return <Skeleton lines={lines} {...(height && { height })} />;
  }
  return rows.length === 0 && empty ? empty : children(rows);
}

/** The server is there, unlike one that does not answer: for that one there is a banner. */
function isNotReady(error: unknown): boolean {
  return error instanceof ApiError && error.status === 503;
}
