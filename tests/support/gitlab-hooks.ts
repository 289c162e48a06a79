/** A project as GitLab names it in its webhooks; `url` is its page. */
export type HookProject = { id: number; url: string };

/** Headers of GitLab 17 with a secret token. */
export function gitlabHeaders(event: string, secret: string): Record<string, string> {
  return {
    "content-type": "application/json",
    "user-agent": "GitLab/17.11.1-ee",
    "idempotency-key": "9db5a20d-3bbb-416d-a265-c095052a9348",
    "x-gitlab-event": event,
    "x-gitlab-webhook-uuid": "c764a944-82c2-4044-9213-ec5b89d12778",
    "x-gitlab-instance": "https://gitlab.example.com",
    "x-gitlab-event-uuid": "0f490e30-2db8-4091-91a1-52fe67960342",
    "x-gitlab-token": secret,
  };
}

function projectBody({ id, url }: HookProject) {
  const { host, pathname } = new URL(url);
  const ssh = `git@${host.replace(/:\d+$/, "")}:${pathname.slice(1)}.git`;
  return {
    ...{ id, name: "Bot", description: null, web_url: url, avatar_url: null },
    ...{ git_ssh_url: ssh, git_http_url: `${url}.git`, namespace: "agents", visibility_level: 0 },
    ...{ path_with_namespace: pathname.slice(1), default_branch: "main", ci_config_path: "" },
    ...{ homepage: url, url: ssh, ssh_url: ssh, http_url: `${url}.git` },
  };
}

const user = { id: 4, name: "Ada", username: "ada", avatar_url: null, email: "[REDACTED]" };

/** `Push Hook`, with the fields that GitLab 17 sends. */
export function gitlabPush(options: {
  project: HookProject;
  before: string;
  after: string;
  ref?: string;
}): Record<string, unknown> {
  const { before, after, ref = "refs/heads/main" } = options;
  const project = projectBody(options.project);
  const { git_http_url, git_ssh_url, visibility_level, homepage, url } = project;
  return {
    ...{ object_kind: "push", event_name: "push", before, after, ref, ref_protected: true },
    ...{ checkout_sha: after, message: null, user_id: user.id, user_name: user.name },
    ...{ user_username: user.username, user_email: "", user_avatar: null, project_id: project.id },
    project,
    commits: [{ id: after, message: "Two\n", title: "Two", added: [], modified: ["graph.js"], removed: [] }],
    total_commits_count: 1,
    push_options: {},
    repository: {
      ...{ name: "Bot", url, description: null, homepage, git_http_url, git_ssh_url, visibility_level },
    },
  };
}

/** `Merge Request Hook`, with the fields that GitLab 17 sends. `change` goes into `object_attributes`. */
export function gitlabMergeRequest(options: {
  project: HookProject;
  action: string;
  iid: number;
  branch: string;
  sha: string;
  change?: Record<string, unknown>;
}): Record<string, unknown> {
  const { action, iid, branch, sha } = options;
  const project = projectBody(options.project);
  const { homepage, url } = project;
  return {
    ...{ object_kind: "merge_request", event_type: "merge_request", user, project },
    object_attributes: {
      ...{ assignee_id: null, author_id: user.id, created_at: "2026-06-05 15:04:15 UTC", draft: false },
      ...{ description: "", head_pipeline_id: null, id: 4979, iid, merge_commit_sha: null },
      ...{ merge_status: "unchecked", detailed_merge_status: "unchecked", milestone_id: null },
      ...{ source_branch: branch, source_project_id: project.id, state_id: 1, target_branch: "main" },
      ...{ target_project_id: project.id, time_estimate: 0, title: "Another answer", labels: [] },
      ...{ updated_at: "2026-06-05 15:48:01 UTC", assignee_ids: [], reviewer_ids: [] },
      last_commit: { id: sha, message: "Two\n", title: "Two", url: `${homepage}/-/commit/${sha}` },
      ...{ source: project, state: "opened", target: project, work_in_progress: false },
      ...{ url: `${homepage}/-/merge_requests/${iid}`, action, ...options.change },
    },
    ...{ labels: [], changes: {}, repository: { name: "Bot", url, description: null, homepage } },
  };
}
