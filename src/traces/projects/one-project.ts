import type { RunReading } from "../storage/run-storage.ts";
import { ForbiddenPart } from "../wire/refused-part.ts";
import type { ProjectService } from "./project-service.ts";

/** The one project a sender may write to. */
export type OneProject = { id: string; name: string };

/** What holds a credential of one tracing project to that project. */
export class OneProjectRules {
  readonly #runs: RunReading;
  readonly #projects: ProjectService;

  constructor(options: { runs: RunReading; projects: ProjectService }) {
    this.#runs = options.runs;
    this.#projects = options.projects;
  }

  async find(workspaceId: string, name: string | undefined): Promise<OneProject | undefined> {
    return name === undefined ? undefined : { id: await this.#projects.projectIdOf(workspaceId, name), name };
  }

  checkProject(only: OneProject | undefined, projectId: string): void {
    if (only && projectId !== only.id) refuse(only, `${projectId} is another`);
  }

  checkName(only: OneProject | undefined, name: string): void {
    if (only && name !== only.name) refuse(only, `"${name.slice(0, 200)}" is another`);
  }

  /**
   * Feedback and attachments on runs that are not there are refused: the run may come, and in another project.
   * `known` are runs of which this request has just written something.
   */
  async checkRun(
    workspaceId: string,
    only: OneProject | undefined,
    runId: string,
    known: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    if (!only || known.has(runId)) return;
    const projectId = await this.#runs.projectOf(workspaceId, runId);
    if (projectId !== only.id) refuse(only, `there is no run ${runId} in it`);
  }

  otherRun(only: OneProject, runId: string): never {
    refuse(only, `the run ${runId} is in another project`);
  }
}

function refuse(only: OneProject, what: string): never {
  throw new ForbiddenPart(`This credential can write only to the project "${only.name}"; ${what}.`);
}
