import { useId, useState } from "react";
import { Icon } from "../icons.tsx";
import { ConnectAccount, readConsentRequest } from "./connect-account.tsx";
import { readAnswer, readQuestion } from "./question.ts";

export type Decision =
  | { type: "approve" }
  | { type: "reject"; message?: string }
  | { type: "edit"; edited_action: { name: string; args: Record<string, unknown> } };

type ActionRequest = { name: string; args: Record<string, unknown>; description?: string };
type Ask = {
  action_requests?: ActionRequest[];
  review_configs?: { action_name: string; allowed_decisions: string[] }[];
};

/**
 * A run has stopped and asks. Actions can be approved, changed or refused, an account can be connected; anything else
 * is answered in words.
 */
export function Approval({ ask, onAnswer }: { ask: unknown; onAnswer(answer: unknown): void }) {
  const request = ask as Ask | null;
  const [decided, setDecided] = useState<Record<number, Decision>>({});
  const actions = request?.action_requests ?? [];
  const consent = readConsentRequest(ask);
  if (consent) return <ConnectAccount key={consent.auth_url} request={consent} onAnswer={onAnswer} />;
  if (actions.length === 0) return <Question ask={ask} onAnswer={onAnswer} />;
  // Several actions may be asked for at once; the answer has a decision for each, in their order.
  const decide = (at: number, decision: Decision) => {
    const all = { ...decided, [at]: decision };
    setDecided(all);
    if (actions.every((_, index) => index in all)) {
      onAnswer({ decisions: actions.map((_, index) => all[index]) });
    }
  };
  return actions.map((action, at) =>
    at in decided ? null : (
      <ActionCard
        // biome-ignore lint/suspicious/noArrayIndexKey: the place in the list identifies them.
        key={at}
        action={action}
        allowed={
          request?.review_configs?.find((config) => config.action_name === action.name)
            ?.allowed_decisions ?? ["approve", "reject"]
        }
        onDecide={(decision) => decide(at, decision)}
      />
    ),
  );
}

function ActionCard({
  action,
  allowed,
  onDecide,
}: {
  action: ActionRequest;
  allowed: string[];
  onDecide(decision: Decision): void;
}) {
  const [mode, setMode] = useState<"choose" | "edit" | "reject">("choose");
  const [args, setArgs] = useState(action.args);
  const [reason, setReason] = useState("");
  const title = useId();
  const fields = Object.entries(args);
  return (
    <section className="approval" aria-labelledby={title}>
      <header>
        <Icon name="hand" />
        <h3 id={title}>Your approval is needed</h3>
        <code>{action.name}</code>
      </header>
      <p>{action.description}</p>
      {mode === "edit" ? (
        fields.map(([name, value]) => (
          <Field
            key={name}
            label={name}
            value={typeof value === "string" ? value : JSON.stringify(value)}
            onChange={(text) =>
              setArgs({ ...args, [name]: typeof value === "string" ? text : readJson(text) })
            }
          />
        ))
      ) : (
        <dl>
          {fields.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      {mode === "reject" && <Field label="Reason (optional)" value={reason} onChange={setReason} />}
      <div className="row">
        {mode === "choose" && (
          <>
            <button type="button" className="primary" onClick={() => onDecide({ type: "approve" })}>
              <Icon name="check" />
              Approve
            </button>
            {allowed.includes("edit") && (
              <button type="button" onClick={() => setMode("edit")}>
                <Icon name="edit" />
                Edit
              </button>
            )}
            {allowed.includes("reject") && (
              <button type="button" className="danger" onClick={() => setMode("reject")}>
                <Icon name="cross" />
                Reject
              </button>
            )}
          </>
        )}
        {mode === "edit" && (
          <button
            type="button"
            className="primary"
            onClick={() => onDecide({ type: "edit", edited_action: { name: action.name, args } })}
          >
            <Icon name="check" />
            Approve the change
          </button>
        )}
        {mode === "reject" && (
          <button
            type="button"
            className="danger solid"
            onClick={() => onDecide({ type: "reject", ...(reason.trim() ? { message: reason.trim() } : {}) })}
          >
            <Icon name="cross" />
            Reject it
          </button>
        )}
        {mode !== "choose" && (
          <button type="button" className="quiet" onClick={() => setMode("choose")}>
            Back
          </button>
        )}
      </div>
    </section>
  );
}

function Question({ ask, onAnswer }: { ask: unknown; onAnswer(answer: unknown): void }) {
  const [text, setText] = useState("");
  const { words, data } = readQuestion(ask);
  return (
    <form
      className="approval"
      aria-label="The agent asks you something"
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer(readAnswer(text));
      }}
    >
      <header>
        <Icon name="hand" />
        <h3>The agent waits for your answer</h3>
      </header>
      {words !== undefined && <p className="asked">{words}</p>}
      {data !== undefined && <pre>{JSON.stringify(data, null, 2)}</pre>}
      <Field label="Answer (text, or JSON if the agent expects data)" value={text} onChange={setText} />
      <div className="row">
        <button type="submit" className="primary">
          Answer
        </button>
      </div>
    </form>
  );
}

function Field({ label, value, onChange }: { label: string; value: string; onChange(text: string): void }) {
  return (
    <label className="field">
      <span>{label}</span>
      {/* biome-ignore lint/a11y/noAutofocus: the person has just asked to type here. */}
      <textarea autoFocus rows={2} value={value} onChange={(event) => onChange(event.target.value)} />
    </label>
  );
}

/** Half-typed JSON is kept as text; the graph fails if it cannot use it. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
