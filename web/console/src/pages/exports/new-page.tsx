import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { ApiError, api } from "../../api/client.ts";
import {
  Button,
  ButtonLink,
  Card,
  EmptyState,
  ErrorLine,
  Field,
  Page,
  PageHeader,
  Select,
  Skeleton,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  type BulkExport,
  exportsPath,
  type Preview,
  useDestinations,
  usePreview,
  useProjects,
} from "./export-api.ts";
import { fieldsBody } from "./export-fields.ts";
import { placeText } from "./export-words.ts";
import { FieldChoice } from "./field-choice.tsx";
import { FilterField } from "./filter-field.tsx";
import { beginForm, bodyOf, type NewExportForm, previewOf, problemsOf, wireNames } from "./new-export.ts";
import { TimeChoice } from "./time-choice.tsx";

const compressions = [
  { value: "zstandard", label: "Zstandard: small and fast" },
  { value: "snappy", label: "Snappy: supported by every tool" },
  { value: "gzip", label: "Gzip" },
  { value: "none", label: "None" },
];

const header = (
  <PageHeader
    title="New export"
    crumbs={[{ label: "Exports", href: "/exports" }]}
    description="Runs that started in the chosen time, one folder per UTC day."
  />
);

export function NewPage() {
  const mayCreate = useCan("admin");
  const destinations = useDestinations();
  if (!mayCreate) {
    return (
      <Page title="New export" width="narrow">
        {header}
        <EmptyState title="Your key can only read">
          Ask an admin of this workspace for a key with the role admin.
        </EmptyState>
      </Page>
    );
  }
  if (destinations.isPending) {
    return (
      <Page title="New export" width="narrow">
        {header}
        <Skeleton lines={6} height="3rem" />
      </Page>
    );
  }
  if (destinations.data?.length === 0) {
    return (
      <Page title="New export" width="narrow">
        {header}
        <EmptyState
          title="First, a destination"
          action={
            <ButtonLink href="/exports/destinations/new?then=export" look="primary">
              New destination
            </ButtonLink>
          }
        >
          Exports go to your own bucket. Add it once; then every export can use it.
        </EmptyState>
      </Page>
    );
  }
  return <NewForm />;
}

function NewForm() {
  const [params] = useSearchParams();
  const destinations = useDestinations().data ?? [];
  const projects = useProjects().data ?? [];
  const [form, setForm] = useState<NewExportForm>(() => beginForm(new Date(), params));
  const [sent, setSent] = useState(false);
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const set = (patch: Partial<NewExportForm>) => {
    setForm((now) => ({ ...now, ...patch }));
    create.reset();
  };
  const destination = form.destination || destinations[0]?.id || "";
  const filled = { ...form, destination };
  const problems = problemsOf(filled);
  const preview = usePreview(useSettled(previewOf(filled), 350));
  const create = useMutation({
    mutationFn: () =>
      api.post<BulkExport>(exportsPath, { ...bodyOf(filled), export_fields: fieldsBody(form.fields) }),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ["exports"] });
      toast.good(made.interval_hours === null ? "The export has started." : "The schedule is on.");
      navigate(`/exports/${made.id}`);
    },
  });
  const counted = refusalsOf(preview.error);
  // Half a filter is not wrong while it is being written.
  const isHalf = preview.error instanceof ApiError && preview.error.reasons.filter === "ends_too_early";
  const refused = { ...(isHalf && !sent ? {} : counted), ...refusalsOf(create.error) };
  const problem = (name: keyof NewExportForm) => (sent ? problems[name] : null) ?? refused[name];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    if (!Object.values(problems).some(Boolean)) create.mutate();
    else requestAnimationFrame(() => document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  const ordinary = projects.filter(({ reference_dataset_id }) => reference_dataset_id === null);
  const experiments = projects.filter(({ reference_dataset_id }) => reference_dataset_id !== null);
  return (
    <Page title="New export" width="narrow">
      {header}
      <form className="stack" onSubmit={submit} noValidate>
        <Card className="stack">
          <h2>What</h2>
          <Field label="Project" error={problem("project")}>
            <Select
              value={form.project}
              onChange={(event) => set({ project: event.target.value })}
              options={[
                { value: "", label: "Choose a project" },
                { value: "all", label: "All experiments" },
                ...ordinary.map(({ id, name }) => ({ value: id, label: name })),
                ...experiments.map(({ id, name }) => ({ value: id, label: `${name} (experiment)` })),
              ]}
            />
          </Field>
          <TimeChoice form={form} set={set} problem={problem} />
          <FilterField
            value={form.filter}
            onChange={(filter) => set({ filter })}
            projectId={form.project === "" || form.project === "all" ? null : form.project}
            error={problem("filter")}
          />
          <PreviewLine
            data={preview.data}
            asking={preview.isFetching}
            scheduled={form.kind === "schedule"}
            failed={preview.error !== null}
          />
        </Card>
        <Card className="stack">
          <h2>Where</h2>
          <div className="columns">
            <Field label="Destination" error={problem("destination")}>
              <Select
                value={destination}
                onChange={(event) => set({ destination: event.target.value })}
                options={destinations.map((one) => ({
                  value: one.id,
                  label: `${one.display_name} (${placeText(one)})`,
                }))}
              />
            </Field>
            <Field label="Compression">
              <Select
                value={form.compression}
                onChange={(event) => set({ compression: event.target.value })}
                options={compressions}
              />
            </Field>
          </div>
          <FieldChoice chosen={form.fields} onChange={(fields) => set({ fields })} />
          {problem("fields") && (
            <p className="field-error" role="alert">
              {problem("fields")}
            </p>
          )}
        </Card>
        {Object.keys(refusalsOf(create.error)).length === 0 && <ErrorLine error={create.error} />}
        <div className="row">
          <Button type="submit" look="primary" busy={create.isPending}>
            {form.kind === "once" ? "Export" : "Start the schedule"}
          </Button>
          <ButtonLink href="/exports" look="quiet">
            Cancel
          </ButtonLink>
        </div>
      </form>
    </Page>
  );
}

function PreviewLine({
  data,
  asking,
  scheduled,
  failed,
}: {
  data: Preview | undefined;
  asking: boolean;
  scheduled: boolean;
  failed: boolean;
}) {
  const count = data && `${data.estimate ? "about " : ""}${data.rows.toLocaleString("en-US")}`;
  return (
    <p className="preview" role="status" aria-busy={asking}>
      {failed ? (
        "The number of runs is shown once the fields above are valid."
      ) : count === undefined ? (
        asking ? (
          "Counting…"
        ) : (
          "Choose a project and a time to see how many runs that is."
        )
      ) : (
        <>
          <strong className="number">{count}</strong> {data?.rows === 1 ? "run" : "runs"}
          {data && data.projects > 1 && ` in ${data.projects} projects`}
          {scheduled ? " so far" : ""}
        </>
      )}
    </p>
  );
}

/** The value once it has stayed the same for a moment. */
function useSettled<T>(value: T, ms: number): T {
  const key = JSON.stringify(value);
  const [settled, setSettled] = useState({ key, value });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text stands for the value
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ key, value }), ms);
    return () => clearTimeout(timer);
  }, [key, ms]);
  return settled.value;
}

function refusalsOf(error: unknown): Partial<Record<keyof NewExportForm, string>> {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(
    Object.entries(error.fields).flatMap(([path, message]) => {
      const name = wireNames[path.split(".")[0] ?? ""];
      return name ? [[name, message]] : [];
    }),
  );
}
