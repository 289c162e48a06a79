import { type Checkpoint, type CheckpointMetadata, MemorySaver } from "@langchain/langgraph";

type Config = Parameters<MemorySaver["put"]>[0];

/** The library's in-memory checkpointer, which also notes with every checkpoint whose run wrote it. */
export class ChatCheckpointer extends MemorySaver {
  override put(config: Config, checkpoint: Checkpoint, metadata: CheckpointMetadata): Promise<Config> {
    const { assistant_id, run_id } = config.configurable ?? {};
    return super.put(config, checkpoint, { ...metadata, assistant_id, run_id } as CheckpointMetadata);
  }

  threadIds(): string[] {
    // A place is made before the first checkpoint is in it.
    return Object.keys(this.storage).filter((id) => this.count(id) > 0);
  }

  /** Roughly what the thread takes of memory: every checkpoint holds the whole conversation so far. */
  bytes(threadId: string): number {
    const namespaces = Object.values(this.storage[threadId] ?? {});
    return namespaces.flatMap(Object.values).reduce((sum: number, [saved]) => sum + saved.length, 0);
  }

  /** How many checkpoints the thread has; a thread without any does not exist. */
  count(threadId: string): number {
    return Object.keys(this.storage[threadId]?.[""] ?? {}).length;
  }

  has(threadId: string, checkpointId: string): boolean {
    return this.storage[threadId]?.[""]?.[checkpointId] !== undefined;
  }
}
