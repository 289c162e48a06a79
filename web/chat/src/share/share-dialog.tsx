import { useEffect, useRef, useState } from "react";
import type { ChatShare } from "../../../../openapi/wire.d.ts";
import { CopyButton } from "../copy-button.tsx";
import type { ChatServer, ThreadSummary } from "../servers/chat-server.ts";
import { findShare, share, unshare } from "./share-api.ts";

/** A link by which others read the conversation as it is now, until it is removed. */
export function ShareDialog({
  server,
  thread,
  onClose,
}: {
  server: ChatServer;
  thread: ThreadSummary;
  onClose(): void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [link, setLink] = useState<ChatShare | null>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => dialog.current?.showModal(), []);
  const attempt = (work: () => Promise<ChatShare | undefined>) => {
    setProblem(undefined);
    work().then(
      (found) => setLink(found ?? null),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it opens.
  useEffect(() => attempt(() => findShare(server, thread.thread_id)), []);
  const address = link && `${location.origin}${link.path}`;
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="share-title" onClose={onClose}>
      <h2 id="share-title">Share by link</h2>
      <p>
        Anyone with the link can read this conversation as it is now, without signing in, until you remove the
        link. Later messages are not in it.
      </p>
      {problem && (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      )}
      {address && (
        <>
          <div className="field-row">
            <label className="field">
              <span>Link</span>
              <input readOnly value={address} onFocus={(event) => event.target.select()} />
            </label>
            <CopyButton text={() => address} label="Copy link" />
          </div>
          <p className="muted">Shows the conversation of {new Date(link.created_at).toLocaleString()}.</p>
        </>
      )}
      <div className="row">
        <button type="button" className="quiet" onClick={() => dialog.current?.close()}>
          Close
        </button>
        {address && (
          <button
            type="button"
            className="danger"
            onClick={() => attempt(() => unshare(server, thread.thread_id))}
          >
            Remove link
          </button>
        )}
        <button
          type="button"
          className={address ? "" : "primary"}
          disabled={link === undefined}
          onClick={() => attempt(() => share(server, thread))}
        >
          {address ? "Update" : "Make a link"}
        </button>
      </div>
    </dialog>
  );
}
