/** What the page shows of its stream, as JSON, for the test to read. */
export type Shown = {
  threadId: string | null;
  assistantId: string;
  isLoading: boolean;
  isThreadLoading: boolean;
  /** `type: text` */
  messages: string[];
  lastMessageId: string | null;
  /** The state beside the messages. */
  values: Record<string, unknown>;
  interrupts: unknown[];
  /** `name: status`, as for subagents */
  toolCalls: string[];
  subagents: string[];
  /** Submissions that the client itself holds back. */
  queued: number;
  /** Why each run that ended under the page's eyes did. */
  ended: string[];
  error: string | null;
  /** What the hook's promises were rejected with. */
  refusals: string[];
};
