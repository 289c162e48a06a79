import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { request } from "../../api/client.ts";
import { Button, Bytes, ErrorLine } from "../../ui/index.ts";
import { type Attachment, useAttachments } from "./trace-api.ts";

/** Files that came with a run; nothing when there are none. */
export function Attachments({ runId }: { runId: string }) {
  const { data = [] } = useAttachments(runId);
  if (data.length === 0) return null;
  return (
    <section className="payload">
      <header>
        <h3>Attachments</h3>
      </header>
      <ul className="feedback-list">
        {data.map((attachment) => (
          <AttachmentItem key={attachment.name} runId={runId} attachment={attachment} />
        ))}
      </ul>
    </section>
  );
}

function AttachmentItem({ runId, attachment }: { runId: string; attachment: Attachment }) {
  const { name, mime_type, size } = attachment;
  const save = useMutation({
    // With the key in a header, which a plain link could not send.
    mutationFn: async () => {
      const response = await request("GET", `/api/v1/runs/${runId}/attachments/${encodeURIComponent(name)}`);
      const url = URL.createObjectURL(await response.blob());
      const link = document.createElement("a");
      link.href = url;
      link.download = name;
      link.click();
      URL.revokeObjectURL(url);
    },
  });
  return (
    <li>
      <b>{name}</b>
      <span className="muted">
        {mime_type}, <Bytes value={size} />
      </span>
      <Button size="small" icon={Download} busy={save.isPending} onClick={() => save.mutate()}>
        Save
      </Button>
      <ErrorLine error={save.error} />
    </li>
  );
}
