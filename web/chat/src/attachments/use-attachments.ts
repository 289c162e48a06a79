import { useState } from "react";
import { type Attachment, readAttachment, refusalOf } from "./attachment.ts";

/** The files of the message being written, and why the last one was refused. */
export function useAttachments(textOnly: boolean) {
  const [files, setFiles] = useState<Attachment[]>([]);
  const [problem, setProblem] = useState<string>();
  const add = async (given: readonly File[]) => {
    setProblem(undefined);
    const read: Attachment[] = [];
    for (const file of given) {
      const refusal = refusalOf(file, { attached: files.length + read.length, textOnly });
      if (refusal) setProblem(refusal);
      else read.push(await readAttachment(file));
    }
    setFiles((now) => [...now, ...read]);
  };
  return {
    files,
    problem,
    add: (given: readonly File[]) => void add(given),
    remove: (id: string) => setFiles((now) => now.filter((file) => file.id !== id)),
    clear: () => {
      setFiles([]);
      setProblem(undefined);
    },
  };
}
