import { Icon, type IconName, Mark } from "./icons.tsx";
import type { ChatServer } from "./servers/chat-server.ts";

const ideas: { icon: IconName; title: string; text: string }[] = [
  {
    icon: "wrench",
    title: "Use tools",
    text: "Calculate (3 + 4) * 12, and what is the weather in Paris and Rome?",
  },
  { icon: "branch", title: "Send out a subagent", text: "Research durable execution" },
  { icon: "hand", title: "Ask before acting", text: "Delete the test records" },
  { icon: "spark", title: "Show some code", text: "Explain how I choose a real model" },
];

const introductions: Record<ChatServer["kind"], (name: string) => string> = {
  "built-in": () =>
    "Tools, subagents, approvals and branches, on threads that survive a restart. The offline model needs no key and no network.",
  deployment: (name) => `This is ${name}, a deployment of your workspace. It has its own conversations.`,
  address: (name) => `This is ${name}, another server. The key for it stays in this browser.`,
  example: () =>
    "An example of streaming over the agent protocol: tools, subagents, approvals, branches. The built-in model needs no key and no network.",
};

export function Empty({ server, onIdea }: { server: ChatServer; onIdea(text: string): void }) {
  return (
    <div className="empty">
      <Mark />
      <h2>What shall we work on?</h2>
      <p>{introductions[server.kind](server.name)}</p>
      <ul className="ideas">
        {(server.kind === "built-in" || server.kind === "example" ? ideas : []).map(
          ({ icon, title, text }) => (
            <li key={title}>
              <button type="button" onClick={() => onIdea(text)}>
                <Icon name={icon} />
                <span>
                  <strong>{title}</strong>
                  <span>{text}</span>
                </span>
              </button>
            </li>
          ),
        )}
      </ul>
    </div>
  );
}

/** Appears only when loading takes long enough to notice. */
export function Loading() {
  return (
    <div className="loading" role="status">
      <span className="hidden">Loading the conversation</span>
      <div className="bone right" />
      <div className="bone" />
      <div className="bone short" />
      <div className="bone" />
    </div>
  );
}
