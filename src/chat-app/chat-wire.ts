import { z } from "zod";
import type { Caller } from "../platform/http/access/caller.ts";
import type { ThreadBook } from "./thread-book.ts";

/** What the routes share. */
export const tag = "Chat application";
export const reads = { kind: "agent", role: "viewer", scope: ["read", "runs"] } as const;
export const writes = { kind: "agent", role: "editor", scope: "runs" } as const;
export const maxBodyBytes = 1_000_000;

export const threadId = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,127}$/)
  .refine((id) => id !== "constructor" && id !== "prototype");
export const threadParams = z.object({ thread_id: threadId });

/** Each workspace has threads of its own. */
export type BookOf = (workspaceId: string) => ThreadBook;

/** What graphs may know about who started a run. */
export type Identify = (caller: Caller) => Record<string, unknown>;
