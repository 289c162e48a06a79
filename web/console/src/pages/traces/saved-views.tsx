import { Bookmark, Pencil, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { Button, CopyButton, Dialog, ErrorLine, Field, IconButton, Input } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { addressOfView } from "./saved-view-address.ts";
import { type SavedView, useSavedViews, useViewChanges, type ViewFields } from "./saved-views-api.ts";

/** The views of this project that the workspace shares: opened, sent, made, renamed and deleted here. */
export function SavedViews({
  projectId,
  current,
}: {
  projectId: string;
  /** What the list shows now, under this name. */
  current(name: string): ViewFields;
}) {
  const views = useSavedViews(projectId);
  const changes = useViewChanges(projectId);
  const mayChange = useCan("editor");
  const [edited, setEdited] = useState<SavedView | "new">();
  return (
    <>
      <details className="menu-fold">
        <summary className="button plain small">
          <Bookmark size={15} aria-hidden="true" /> Views
        </summary>
        <div className="menu-card">
          {views.data?.length === 0 && <p className="muted">No saved views yet.</p>}
          <ul className="saved-views" aria-label="Saved views">
            {views.data?.map((view) => (
              <li key={view.id}>
                <Link href={addressOfView(projectId, view)} className="cut" dir="auto">
                  {view.name}
                </Link>
                <CopyButton
                  text={() => `${location.origin}${addressOfView(projectId, view)}`}
                  label={`Copy link to ${view.name}`}
                />
                {mayChange && (
                  <>
                    <IconButton label={`Rename ${view.name}`} icon={Pencil} onClick={() => setEdited(view)} />
                    <IconButton
                      label={`Delete ${view.name}`}
                      icon={Trash2}
                      onClick={() => changes.remove.mutate(view.id)}
                    />
                  </>
                )}
              </li>
            ))}
          </ul>
          <ErrorLine error={views.error ?? changes.remove.error} />
          {mayChange && (
            <Button size="small" onClick={() => setEdited("new")}>
              Save this view
            </Button>
          )}
        </div>
      </details>
      {edited && (
        <NameDialog
          title={edited === "new" ? "Save this view" : "Rename the view"}
          first={edited === "new" ? "" : edited.name}
          busy={changes.create.isPending || changes.rename.isPending}
          error={edited === "new" ? changes.create.error : changes.rename.error}
          onClose={() => {
            changes.create.reset();
            changes.rename.reset();
            setEdited(undefined);
          }}
          onSave={(name) => {
            const onSuccess = () => setEdited(undefined);
            if (edited === "new") changes.create.mutate(current(name), { onSuccess });
            else changes.rename.mutate({ id: edited.id, name }, { onSuccess });
          }}
        />
      )}
    </>
  );
}

function NameDialog({
  title,
  first,
  busy,
  error,
  onClose,
  onSave,
}: {
  title: string;
  first: string;
  busy: boolean;
  error: unknown;
  onClose(): void;
  onSave(name: string): void;
}) {
  const [name, setName] = useState(first);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") onSave(name.trim());
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" hint="Everybody in this workspace sees it.">
          <Input value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
        </Field>
        <ErrorLine error={error} />
        <div className="row">
          <Button type="submit" look="primary" busy={busy} disabled={name.trim() === ""}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
