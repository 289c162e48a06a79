/** What a person is asked, in the shape approval screens already know. */
export type ApprovalRequest = {
  action_requests: { name: string; args: Record<string, unknown>; description: string }[];
  review_configs: { action_name: string; allowed_decisions: ("approve" | "edit" | "reject")[] }[];
};

export type ApprovalDecision = {
  approved: boolean;
  note: string | undefined;
  editedArgs: Record<string, unknown> | undefined;
};

export function approvalRequest(
  name: string,
  args: Record<string, unknown>,
  description: string,
): ApprovalRequest {
  return {
    action_requests: [{ name, args, description }],
    review_configs: [{ action_name: name, allowed_decisions: ["approve", "edit", "reject"] }],
  };
}

const yes = /^\s*(y|yes|ok|okay|true|sure|approved?|accept(ed)?|allow|go( ahead)?|continue)\b/i;

const no = /^\s*(n|no|nope|false|reject(ed)?|den(y|ied)|cancel|stop)\s*$/i;

/**
 * Clients answer in many ways: `true`, "yes", `{type: "approve"}`, `{decisions: [...]}`, `[{type: "accept"}]`. What is
 * not clearly a yes is a no.
 */
export function readDecision(answer: unknown): ApprovalDecision {
  if (typeof answer === "boolean") return decision(answer);
  if (typeof answer === "string" && no.test(answer)) return decision(false);
  if (typeof answer === "string") return yes.test(answer) ? decision(true) : decision(false, answer);
  if (Array.isArray(answer)) return readDecision(answer[0]);
  if (answer === null || typeof answer !== "object") return decision(false);
  const fields = answer as Record<string, unknown>;
  if (Array.isArray(fields.decisions)) return readDecision(fields.decisions[0]);
  if (typeof fields.approved === "boolean") return decision(fields.approved, readNote(fields));
  const kind = fields.type ?? fields.decision ?? fields.action;
  const edited = readEditedArgs(fields);
  if (kind === "edit" && edited !== undefined)
    return { approved: true, note: readNote(fields), editedArgs: edited };
  return decision(typeof kind === "string" && yes.test(kind), readNote(fields));
}

function decision(approved: boolean, note?: string): ApprovalDecision {
  return { approved, note: note?.trim() || undefined, editedArgs: undefined };
}

function readNote(fields: Record<string, unknown>): string | undefined {
  const note = fields.message ?? fields.reason ?? fields.note ?? fields.feedback;
  return typeof note === "string" ? note : undefined;
}

function readEditedArgs(fields: Record<string, unknown>): Record<string, unknown> | undefined {
  const edited = (fields.edited_action ?? fields.args) as { args?: unknown } | undefined;
  const args = edited?.args ?? edited;
  return args !== null && typeof args === "object" && !Array.isArray(args)
    ? (args as Record<string, unknown>)
    : undefined;
}
