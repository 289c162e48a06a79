import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";

/** The example that a run of an experiment ran on, in its dataset. One that was deleted is its id alone. */
export function ExampleLink({ id }: { id: string }) {
  const found = useQuery({
    queryKey: ["datasets", "dataset of example", id],
    queryFn: ({ signal }) => api.get<Answers["list_examples"][number]>(`/api/v1/examples/${id}`, { signal }),
    retry: false,
  });
  if (!found.data) return <span className="mono">{id}</span>;
  return (
    <Link href={`/datasets/${found.data.dataset_id}?example=${id}`} className="mono">
      {id}
    </Link>
  );
}
