/** What a run asks a person, and the answers it takes: approvals have two shapes on the wire, everything else is free. */
export type Decision = "approve" | "edit" | "reject" | "respond";
export type ActionRequest = { name: string; args: Record<string, unknown>; description: string | null };
export type Question =
  | { kind: "review" | "inbox"; actions: readonly (ActionRequest & { allowed: readonly Decision[] })[] }
  | { kind: "free"; words: string | null; link: string | null };

/** What a person decided about one action. */
export type Decided = { decision: Decision; args: Record<string, unknown>; words: string };

const everyDecision: readonly Decision[] = ["approve", "edit", "reject"];

export function readQuestion(asked: unknown): Question {
  const review = fieldsOf(asked);
  if (Array.isArray(review?.action_requests) && review.action_requests.length > 0) {
    const configs = listOf(review.review_configs);
    return {
      kind: "review",
      actions: review.action_requests.map((each) => reviewAction(fieldsOf(each), configs)),
    };
  }
  const list = listOf(Array.isArray(asked) ? asked : [asked]);
  if (list.length > 0 && list.every((each) => fieldsOf(each.action_request))) {
    return { kind: "inbox", actions: list.map(inboxAction) };
  }
  const url = review?.auth_url;
  return {
    kind: "free",
    words: typeof asked === "string" ? asked : null,
    link: typeof url === "string" && /^https?:/.test(url) ? url : null,
  };
}

/** In the words of the interrupt. */
export function answerTo(question: Question, decided: readonly Decided[]): unknown {
  if (question.kind === "review") {
    return { decisions: question.actions.map((action, index) => reviewAnswer(action, decided[index]!)) };
  }
  if (question.kind === "inbox") {
    return question.actions.map((action, index) => inboxAnswer(action, decided[index]!));
  }
  throw new Error("A free question is answered with anything.");
}

function reviewAnswer({ name }: ActionRequest, { decision, args, words }: Decided): object {
  if (decision === "edit") return { type: "edit", edited_action: { name, args } };
  if (decision === "respond") return { type: "respond", message: words };
  return { type: decision, ...(decision === "reject" && words.trim() !== "" ? { message: words } : {}) };
}

function inboxAnswer({ name }: ActionRequest, { decision, args, words }: Decided): object {
  if (decision === "edit") return { type: "edit", args: { action: name, args } };
  if (decision === "respond") return { type: "response", args: words };
  if (decision === "reject")
    return words.trim() === "" ? { type: "ignore", args: null } : { type: "response", args: words };
  return { type: "accept", args: null };
}

type Fields = Record<string, unknown>;

function reviewAction(request: Fields | null, configs: readonly Fields[]) {
  const name = String(request?.name ?? "an action");
  const config = configs.find(({ action_name }) => action_name === name);
  const allowed = (config?.allowed_decisions ?? everyDecision) as Decision[];
  return {
    name,
    args: fieldsOf(request?.args) ?? {},
    description: textOrNull(request?.description),
    allowed,
  };
}

function inboxAction({ action_request, config, description }: Fields) {
  const request = fieldsOf(action_request);
  const may = fieldsOf(config) ?? {};
  const allowed: Decision[] = [];
  if (may.allow_accept !== false) allowed.push("approve");
  if (may.allow_edit === true) allowed.push("edit");
  if (may.allow_respond === true) allowed.push("respond");
  if (may.allow_ignore === true) allowed.push("reject");
  return {
    name: String(request?.action ?? "an action"),
    args: fieldsOf(request?.args) ?? {},
    description: textOrNull(description),
    allowed,
  };
}

const textOrNull = (value: unknown) => (typeof value === "string" ? value : null);

function fieldsOf(value: unknown): Fields | null {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Fields) : null;
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter((each): each is Fields => fieldsOf(each) !== null) : [];
}
