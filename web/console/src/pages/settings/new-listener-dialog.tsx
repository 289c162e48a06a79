import { useMutation } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { Answers, CreatedApiKey, Listener } from "../../api/wire.ts";
import {
  Button,
  CopyBlock,
  Dialog,
  ErrorLine,
  Field,
  Input,
  type Problems,
  Select,
  useForm,
} from "../../ui/index.ts";

type Values = { name: string; type: Listener["compute_type"] };

const types: readonly { value: Values["type"]; label: string }[] = [
  { value: "k8s", label: "Kubernetes cluster" },
  { value: "docker", label: "Machine with Docker" },
  { value: "process", label: "Machine without containers" },
];

export function NewListenerDialog({ onClose, onMade }: { onClose(): void; onMade(made: Listener): void }) {
  const create = useMutation({
    mutationFn: ({ name, type }: Values) =>
      api.post<Answers["create_listener"]>("/v2/listeners", {
        ...{ compute_type: type, compute_id: name.trim(), compute_config: {} },
      }),
    onSuccess: onMade,
  });
  const { text, problem, submit } = useForm<Values>({
    start: { name: "", type: "k8s" },
    check: ({ name }): Problems<Values> => ({
      name: name.trim() === "" ? "Name the place, for example factory." : null,
    }),
    judge: "when sent",
    send: create.mutate,
  });
  const id = "new-listener";
  return (
    <Dialog
      title="New listener"
      onClose={onClose}
      footer={
        <>
          <Button look="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" form={id} look="primary" busy={create.isPending}>
            Create
          </Button>
        </>
      }
    >
      <form id={id} className="stack" onSubmit={submit} noValidate>
        <Field label="Name" hint="Your name for the place. It cannot be changed." error={problem("name")}>
          <Input spellCheck={false} {...text("name")} />
        </Field>
        <Field label="What is there">
          <Select {...text("type")} options={types} />
        </Field>
        <ErrorLine error={create.error} />
      </form>
    </Dialog>
  );
}

const runtimes: Record<Listener["compute_type"], string> = {
  k8s: "kubernetes",
  docker: "docker",
  process: "process",
};

/** The command for the other place, with a key that is made on request and shown this once. */
export function StartListenerDialog({ listener, onClose }: { listener: Listener; onClose(): void }) {
  const make = useMutation({
    mutationFn: () =>
      api.post<CreatedApiKey>("/v2/api-keys", {
        ...{ name: `Listener ${listener.compute_id}`.slice(0, 100), service: true, scopes: ["listener"] },
        // It runs for as long as the place exists, and nobody looks after its key there.
        expires_at: null,
      }),
  });
  const command = [
    `export TREADLE_PLATFORM_KEY=${make.data?.key ?? "…"}`,
    `treadle listener --platform ${location.origin} \\`,
    `  --listener ${listener.id} --runtime ${runtimes[listener.compute_type]}`,
  ].join("\n");
  return (
    <Dialog
      title={`Start ${listener.compute_id}`}
      onClose={onClose}
      wide
      footer={
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="stack">
        <p>
          Run this where the deployments are to run. It needs this server's address, and a PostgreSQL of its
          own (<code>DATABASE_URL</code>) or a data folder. People reach its deployments at{" "}
          <code>TREADLE_PUBLIC_URL</code>.
        </p>
        <CopyBlock label="the command" text={command} />
        {make.data ? (
          <p className="muted">
            The key is shown only once. It opens what a listener needs and nothing else.
          </p>
        ) : (
          <div>
            <Button busy={make.isPending} onClick={() => make.mutate()}>
              Make a key for it
            </Button>
          </div>
        )}
        <ErrorLine error={make.error} />
      </div>
    </Dialog>
  );
}
