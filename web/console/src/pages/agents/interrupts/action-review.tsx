import { Check, MessageSquare, Pencil, X } from "lucide-react";
import { useState } from "react";
import { Button, Field, Textarea } from "../../../ui/index.ts";
import { JsonView } from "../../../ui/json-view.tsx";
import { readJson } from "../read-json.ts";
import { answerTo, type Decided, type Decision, type Question } from "./question.ts";

type Review = Exclude<Question, { kind: "free" }>;
type Action = Review["actions"][number];
type Draft = { decision: Decision; argsText: string; words: string };

const titles = { approve: "Approve", edit: "Edit", reject: "Reject", respond: "Answer" } as const;
const icons = { approve: Check, edit: Pencil, reject: X, respond: MessageSquare } as const;

export type ActionReviewProps = { question: Review; busy: boolean; onAnswer(answer: unknown): void };

/** One decision for each action. With a single one, approving is one click. */
export function ActionReview({ question, busy, onAnswer }: ActionReviewProps) {
  const { actions } = question;
  const [drafts, setDrafts] = useState<readonly Draft[]>(() => actions.map(firstDraft));
  const set = (index: number, patch: Partial<Draft>) =>
    setDrafts(drafts.map((draft, at) => (at === index ? { ...draft, ...patch } : draft)));
  const decided = drafts.map(toDecided);
  const ready = decided.every((each) => each !== null);
  const send = (given: readonly (Decided | null)[]) => {
    if (given.every((each) => each !== null)) onAnswer(answerTo(question, given));
  };
  const single = actions.length === 1;
  const isQuick = (decision: Decision) => single && decision === "approve";
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        send(decided);
      }}
    >
      {actions.map((action, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the place in the list identifies them
        <div key={index} className="stack">
          <p>{action.description ?? `It wants to use ${action.name}.`}</p>
          <ActionDraft action={action} draft={drafts[index]!} onChange={(patch) => set(index, patch)} />
          {/* biome-ignore lint/a11y/useSemanticElements: buttons, not fields */}
          <div className="row" role="group" aria-label={`Decision on ${action.name}`}>
            {action.allowed.map((decision) => (
              <Button
                key={decision}
                size={single ? "normal" : "small"}
                icon={icons[decision]}
                look={isQuick(decision) && drafts[index]!.decision === "approve" ? "primary" : "plain"}
                busy={busy && isQuick(decision)}
                disabled={busy}
                aria-pressed={isQuick(decision) ? undefined : drafts[index]!.decision === decision}
                onClick={() =>
                  isQuick(decision)
                    ? send([{ decision, args: action.args, words: "" }])
                    : set(index, { decision })
                }
              >
                {titles[decision]}
              </Button>
            ))}
          </div>
        </div>
      ))}
      {!(single && drafts[0]!.decision === "approve") && (
        <div className="row">
          <Button type="submit" look="primary" busy={busy} disabled={!ready}>
            {single ? sendTitles[drafts[0]!.decision] : "Send the decisions"}
          </Button>
        </div>
      )}
    </form>
  );
}

const sendTitles = {
  approve: "Approve",
  edit: "Approve with these changes",
  reject: "Send the rejection",
  respond: "Send the answer",
} as const;

function ActionDraft({
  action,
  draft,
  onChange,
}: {
  action: Action;
  draft: Draft;
  onChange(patch: Partial<Draft>): void;
}) {
  if (draft.decision === "edit") {
    return (
      <Field
        label={`Arguments of ${action.name}`}
        error={argsOf(draft.argsText) === null ? "This is not a JSON object yet." : null}
      >
        <Textarea
          className="mono"
          rows={Math.min(16, draft.argsText.split("\n").length + 1)}
          spellCheck={false}
          value={draft.argsText}
          onChange={(event) => onChange({ argsText: event.target.value })}
        />
      </Field>
    );
  }
  return (
    <>
      <JsonView label={`arguments of ${action.name}`} value={action.args} open={2} />
      {draft.decision !== "approve" && (
        <Field
          label={draft.decision === "reject" ? "Why" : "Your answer"}
          optional={draft.decision === "reject"}
        >
          <Textarea
            rows={2}
            value={draft.words}
            onChange={(event) => onChange({ words: event.target.value })}
          />
        </Field>
      )}
    </>
  );
}

function firstDraft({ allowed, args }: Action): Draft {
  const decision = allowed.includes("approve") ? "approve" : (allowed[0] ?? "approve");
  return { decision, argsText: JSON.stringify(args, null, 2), words: "" };
}

/** Null while what is typed cannot be sent. */
function toDecided({ decision, argsText, words }: Draft): Decided | null {
  const args = argsOf(argsText);
  if (decision === "edit" && args === null) return null;
  if (decision === "respond" && words.trim() === "") return null;
  return { decision, args: args ?? {}, words };
}

function argsOf(text: string): Record<string, unknown> | null {
  const value = readJson(text);
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}
