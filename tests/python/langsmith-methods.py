"""Calls every method of the unmodified `langsmith` Python client that belongs to tracing, and fails for one it does not know."""

import datetime
import inspect
import io
import sys
import tempfile
import time
import uuid
import warnings

from langsmith import Client, schemas

warnings.simplefilter("ignore")
url, key = sys.argv[1], sys.argv[2]
client = Client(api_url=f"{url}/api/v1", api_key=key)
now = lambda: datetime.datetime.now(datetime.timezone.utc)

# No part of tracing, or nothing that asks the server.
not_served = set(
    """create_commit create_prompt create_tag delete_agent delete_prompt delete_skill agent_exists skill_exists get_prompt like_prompt
    list_agents list_prompt_commits list_prompts list_skills pull_agent pull_prompt pull_prompt_commit pull_skill push_agent
    push_prompt push_skill unlike_prompt update_prompt generate_insights get_insights_report poll_insights list_project_issues
    create_feedback_formula delete_feedback_formula get_feedback_formula_by_id list_feedback_formulas update_feedback_formula
    cleanup close request_with_retries flush_compressed_traces aread_project evaluate aevaluate evaluate_run aevaluate_run
    get_test_results tracing_mode""".split()
)
done = set()
kept = {}
run_id, second, project = uuid.uuid4(), uuid.uuid4(), f"python-{uuid.uuid4()}"


def call(name, /, *args, **kwargs):
    """Calls a method; iterators are read to their end."""
    done.add(name)
    try:
        found = getattr(client, name)(*args, **kwargs)
        return list(found) if inspect.isgenerator(found) else found
    except Exception as error:
        raise AssertionError(f"{name}: {error}") from error


def wait_for(check):
    for _ in range(100):
        try:
            return check()
        except Exception as error:
            last = error
            time.sleep(0.1)
    raise last


common = dict(run_type="chain", inputs={"q": 1}, project_name=project)
client.create_run("root", id=run_id, start_time=now(), extra={"metadata": {"thread_id": "t1"}}, **common)
client.create_run("second", id=second, start_time=now(), **common)
done.add("create_run")
call("update_run", run_id, outputs={"a": 1}, end_time=now())
call("flush")
batched = {"id": uuid.uuid4(), "name": "batched", "run_type": "chain", "inputs": {}, "start_time": now(), "session_name": project}
batched["trace_id"] = batched["id"]
batched["dotted_order"] = f"{batched['start_time'].strftime('%Y%m%dT%H%M%S%fZ')}{batched['id']}"
call("batch_ingest_runs", create=[dict(batched)])
third = dict(batched, id=uuid.uuid4(), name="multipart")
third["trace_id"] = third["id"]
third["dotted_order"] = f"{third['start_time'].strftime('%Y%m%dT%H%M%S%fZ')}{third['id']}"
call("multipart_ingest", create=[third])
wait_for(lambda: client.read_run(run_id))
run = call("read_run", run_id)
kept["project"] = call("read_project", project_name=project).id
assert call("has_project", project)
assert len(call("list_runs", project_name=project)) == 4
assert len(call("read_thread", thread_id="t1", project_name=project)) == 1
assert len(call("list_threads", project_name=project)) == 1
call("get_run_stats", project_ids=[str(kept["project"])])
call("get_run_url", run=run)
call("list_projects", name=project)
call("update_project", kept["project"], description="d")

link = call("share_run", run_id)
token = link.split("/public/")[1].split("/")[0]
assert call("run_is_shared", run_id)
assert token in call("read_run_shared_link", run_id)
assert call("read_shared_run", token).id == run_id
assert len(call("list_shared_runs", token)) == 1
call("unshare_run", run_id)

dataset = call("create_dataset", f"python-{uuid.uuid4()}")
kept["dataset"] = dataset.id
assert call("has_dataset", dataset_id=dataset.id)
call("read_dataset", dataset_id=dataset.id)
call("list_datasets", dataset_ids=[dataset.id])
example = call("create_example", inputs={"q": "1"}, outputs={"a": "1"}, dataset_id=dataset.id)
call("create_examples", dataset_id=dataset.id, examples=[{"inputs": {"q": "2"}, "outputs": {"a": "2"}}])
call("create_llm_example", "in", "out", dataset_id=dataset.id)
call("create_chat_example", [{"type": "human", "data": {"content": "in"}}], {"type": "ai", "data": {"content": "out"}}, dataset_id=dataset.id)
call("create_example_from_run", run, dataset_id=dataset.id)
assert len(call("list_examples", dataset_id=dataset.id)) == 5
call("fetch_examples", dataset_id=dataset.id) if hasattr(client, "fetch_examples") else None
call("read_example", example.id)
call("update_example", example.id, outputs={"a": "3"})
call("update_examples", dataset_id=dataset.id, updates=[{"id": example.id, "metadata": {"m": 1}}])
version = call("read_dataset_version", dataset_id=dataset.id, tag="latest")
call("update_dataset_tag", dataset_id=dataset.id, as_of=version.as_of, tag="prod")
assert len(call("list_dataset_versions", dataset_id=dataset.id)) >= 6
assert call("list_dataset_splits", dataset_id=dataset.id) == ["base"]
call("update_dataset_splits", dataset_id=dataset.id, split_name="test", example_ids=[example.id])
diff = call("diff_dataset_versions", dataset_id=dataset.id, from_version="prod", to_version="latest")
assert diff.examples_modified == [example.id], diff
assert len(call("list_examples", dataset_id=dataset.id, as_of=version.as_of, splits=["test"])) == 0
with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    file.write("q,a\n1,2\n")
    file.flush()
    csv = call("upload_csv", file.name, ["q"], ["a"], name=f"csv-{uuid.uuid4()}")
assert len(call("read_dataset_openai_finetuning", dataset_id=csv.id)) == 1


class Frame:
    """As much of a data frame as the client asks of one."""

    def to_csv(self, buffer, index=False):
        buffer.write(b"q,a\n5,6\n" if isinstance(buffer, io.BytesIO) else "q,a\n5,6\n")


call("upload_dataframe", Frame(), f"frame-{uuid.uuid4()}", ["q"], ["a"])
shared = call("share_dataset", dataset_id=dataset.id)
share_token = shared["share_token"]
call("read_dataset_shared_schema", dataset_id=dataset.id)
call("read_shared_dataset", share_token)
assert len(call("list_shared_examples", share_token)) == 5
experiment = call("create_project", f"experiment-{uuid.uuid4()}", reference_dataset_id=dataset.id)
assert len(call("list_shared_projects", dataset_share_token=share_token)) == 1
call("clone_public_dataset", share_token, dataset_name=f"clone-{uuid.uuid4()}")
call("unshare_dataset", dataset_id=dataset.id)
call("create_comparative_experiment", "both", [experiment.id], reference_dataset=dataset.id)
results = call("get_experiment_results", project_id=experiment.id)
assert len(list(results["examples_with_runs"])) == 5
client.create_run("of an example", id=uuid.uuid4(), start_time=now(), reference_example_id=example.id, run_type="chain", inputs={}, project_name=experiment.name)
client.flush()

feedback = call("create_feedback", run_id, "ok", score=1, trace_id=run_id)
client.flush()
wait_for(lambda: client.read_feedback(feedback.id))
call("read_feedback", feedback.id)
call("update_feedback", feedback.id, score=0)
assert len(call("list_feedback", run_ids=[run_id])) == 1
link = call("create_presigned_feedback_token", run_id, "given")
assert len(call("create_presigned_feedback_tokens", run_id, ["a", "b"])) == 2
assert len(call("list_presigned_feedback_tokens", run_id)) == 3
call("create_feedback_from_token", link.id, score=1)
call("delete_feedback", feedback.id)
call("create_feedback_config", "ok", feedback_config={"type": "continuous", "min": 0, "max": 1})
call("list_feedback_configs", feedback_key=["ok"])
call("update_feedback_config", "ok", is_lower_score_better=True)
call("delete_feedback_config", "ok")

queue = call("create_annotation_queue", name="python", rubric_instructions="look")
call("read_annotation_queue", queue.id)
call("list_annotation_queues", queue_ids=[queue.id])
call("update_annotation_queue", queue.id, name="renamed")
call("add_runs_to_annotation_queue", queue.id, run_ids=[run_id, second])
assert call("get_run_from_annotation_queue", queue.id, index=0).id == run_id
assert len(call("list_runs_from_annotation_queue", queue.id)) == 2
call("delete_run_from_annotation_queue", queue.id, run_id=run_id)
call("delete_annotation_queue", queue.id)

call("delete_example", example.id)
call("delete_examples", [example.id], hard_delete=True)
call("delete_dataset", dataset_id=dataset.id)
call("delete_project", project_name=project)

uploaded = client.create_dataset(f"parts-{uuid.uuid4()}")

part = schemas.ExampleCreate(id=uuid.uuid4(), inputs={"q": 1})
call("upload_examples_multipart", dataset_id=uploaded.id, uploads=[part])
call("update_examples_multipart", dataset_id=uploaded.id, updates=[schemas.ExampleUpdate(id=part.id, outputs={"a": 1})])
upsert = schemas.ExampleUpsertWithAttachments(id=uuid.uuid4(), dataset_id=uploaded.id, inputs={"q": 2})
call("upsert_examples_multipart", upserts=[upsert])

public = {name for name, value in inspect.getmembers(Client, callable) if not name.startswith("_")}
unknown = public - done - not_served
assert not unknown, f"methods nobody tried: {sorted(unknown)}"
client.close()
print(f"{len(done)} methods")
