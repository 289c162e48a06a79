import { Workflow } from "lucide-react";
import { MessageView } from "../../ui/message-view.tsx";
import type { InnerTalk } from "./live-messages.ts";

/** What a subgraph says while it works, folded away as soon as it is done. */
export function InnerTalkView({ talk, over }: { talk: InnerTalk; over: boolean }) {
  const messages = [...talk.messages.values()];
  const name = talk.path.join(" › ");
  return (
    <details className="inner-talk" open={!over} key={String(over)}>
      <summary>
        <Workflow aria-hidden="true" size={14} /> Inside <b>{name}</b>
        <span className="muted">{messages.length === 1 ? "1 message" : `${messages.length} messages`}</span>
      </summary>
      {messages.map((message, index) => (
        <MessageView key={typeof message.id === "string" ? message.id : index} message={message} />
      ))}
    </details>
  );
}
