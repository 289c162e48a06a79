import { Fragment } from "react";
import type { Assistant, ChatServer } from "./chat-server.ts";
import type { Servers } from "./use-servers.ts";

export type AgentPickerProps = {
  servers: Servers;
  server: ChatServer;
  assistants: readonly Assistant[];
  assistantId: string;
  disabled: boolean;
  onPick(server: ChatServer, assistantId: string | undefined): void;
  onAddServer(): void;
};

const addValue = "add";
const signInValue = "sign-in";

/** All agents: the assistants of this server, and the other servers. */
export function AgentPicker(props: AgentPickerProps) {
  const { servers, server, assistants, assistantId, disabled } = props;
  const others = (servers.all ?? []).filter(({ id }) => id !== server.id);
  const pick = (value: string) => {
    if (value === addValue) return props.onAddServer();
    if (value === signInValue) {
      location.assign(`/sign-in?return_to=${encodeURIComponent(location.pathname)}`);
      return;
    }
    const other = others.find(({ id }) => `server ${id}` === value);
    if (other) props.onPick(other, undefined);
    else props.onPick(server, value);
  };
  return (
    <label className="picker">
      <span className="hidden">Assistant</span>
      <select value={assistantId} onChange={(event) => pick(event.target.value)} disabled={disabled}>
        <optgroup label={server.name}>
          {assistants.map(({ assistant_id, name }) => (
            <option key={assistant_id} value={assistant_id}>
              {labelOf(server, name, assistants.length)}
            </option>
          ))}
        </optgroup>
        {server.kind !== "example" && (
          <Fragment>
            <Others label="Built-in" servers={others.filter(({ kind }) => kind === "built-in")} />
            <Others label="Deployments" servers={others.filter(({ kind }) => kind === "deployment")} />
            <Others label="Other servers" servers={others.filter(({ kind }) => kind === "address")} />
            <optgroup label="More">
              {servers.signedOut && <option value={signInValue}>Sign in to see deployments…</option>}
              <option value={addValue}>Add a server by its address…</option>
            </optgroup>
          </Fragment>
        )}
      </select>
    </label>
  );
}

function Others({ label, servers }: { label: string; servers: readonly ChatServer[] }) {
  if (servers.length === 0) return null;
  return (
    <optgroup label={label}>
      {servers.map(({ id, name }) => (
        <option key={id} value={`server ${id}`}>
          {name}
        </option>
      ))}
    </optgroup>
  );
}

/** Closed, the picker shows nothing else: it has to name the server too, if it is not the one of this page. */
function labelOf({ kind, name: server }: ChatServer, assistant: string, count: number): string {
  if (kind === "built-in" || kind === "example") return capital(assistant);
  return count === 1 ? server : `${server}: ${assistant}`;
}

function capital(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
}
