import { useEffect, useRef, useState } from "react";
import { Icon } from "../icons.tsx";
import { readServerUrl, type SavedServer } from "./saved-servers.ts";
import type { Servers } from "./use-servers.ts";

/** Any agent server by its address. What is typed here stays in this browser. */
export function AddServer({
  servers,
  change,
  onClose,
  onAdded,
}: {
  servers: Servers;
  /** The server whose address or key is to be changed. */
  change: SavedServer | undefined;
  onClose(): void;
  onAdded(id: string): void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [url, setUrl] = useState(change?.url ?? "");
  const [key, setKey] = useState(change?.key ?? "");
  const [problem, setProblem] = useState<string>();
  useEffect(() => dialog.current?.showModal(), []);
  const known = servers.all?.filter(({ kind }) => kind === "address") ?? [];
  const add = () => {
    const address = readServerUrl(url);
    if (address === undefined) {
      setProblem("An address starts with https:// or http:// and has no user name in it.");
      return;
    }
    const server: SavedServer = {
      id: change?.id ?? crypto.randomUUID(),
      name: address.replace(/^https?:\/\//, ""),
      url: address,
      key: key.trim(),
    };
    servers.save(server);
    onAdded(server.id);
  };
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="add-server-title" onClose={onClose}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <h2 id="add-server-title">{change ? "Change this server" : "Talk to another server"}</h2>
        <p>
          Any LangGraph agent server that allows pages of {location.origin} to call it (CORS). Its address and
          key stay in this browser; this server never sees them.
        </p>
        <label className="field">
          <span>Address</span>
          <input
            type="text"
            inputMode="url"
            placeholder="https://agents.example.com"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
            aria-describedby={problem ? "add-server-problem" : undefined}
            aria-invalid={problem !== undefined}
          />
        </label>
        {problem && (
          <p id="add-server-problem" className="field-problem" role="alert">
            {problem}
          </p>
        )}
        <label className="field">
          <span>API key (sent as X-Api-Key; may be empty)</span>
          <input
            type="password"
            autoComplete="off"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
        {known.length > 0 && (
          <ul className="saved-servers" aria-label="Servers in this browser">
            {known.map(({ id, name }) => (
              <li key={id}>
                <span>{name}</span>
                <button type="button" className="quiet small" onClick={() => servers.forget(id)}>
                  <Icon name="trash" />
                  <span>Forget</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        <div className="row">
          <button type="button" className="quiet" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="primary">
            Connect
          </button>
        </div>
      </form>
    </dialog>
  );
}
