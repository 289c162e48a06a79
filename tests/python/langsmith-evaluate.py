"""Traces functions, and evaluates them on a dataset, with the unmodified `langsmith` Python client.
Arguments: the address of a server, and a key."""

import asyncio
import os
import sys
import time
import uuid

url, key = sys.argv[1], sys.argv[2]
project = f"python-{uuid.uuid4()}"
os.environ.update(
    LANGSMITH_TRACING="true", LANGSMITH_ENDPOINT=f"{url}/api/v1", LANGSMITH_API_KEY=key, LANGSMITH_PROJECT=project
)

from langsmith import Client, aevaluate, evaluate, get_current_run_tree, trace, traceable  # noqa: E402

client = Client()


def until(what, read):
    for _ in range(300):
        found = read()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"there is no {what}")


@traceable(run_type="llm", metadata={"ls_provider": "own", "ls_model_name": "m"})
def model(question):
    usage = {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}
    return {"messages": [{"role": "assistant", "content": question.upper()}], "usage_metadata": usage}


@traceable(tags=["kept"])
async def answer(question):
    with trace("look", run_type="tool", inputs={"q": question}) as span:
        span.end(outputs={"found": 1})
    said = model(question)["messages"][0]["content"]
    kept.append((get_current_run_tree().id, get_current_run_tree().to_headers()))
    return said


@traceable
def failing():
    raise ValueError("as it should")


kept = []
# Tracing.
assert asyncio.run(answer("tea", langsmith_extra={"metadata": {"thread_id": "t1"}})) == "TEA"
try:
    failing()
except ValueError:
    pass
run_id, headers = kept[0]
# Elsewhere, as part of the same trace.
elsewhere = traceable(lambda: "there", name="elsewhere")
elsewhere(langsmith_extra={"parent": headers})
client.flush()
Client().flush()
runs = until("whole trace", lambda: (found := list(client.list_runs(trace_id=run_id))) and len(found) == 4 and all(each.end_time for each in found) and found)
assert {each.name for each in runs} == {"answer", "look", "model", "elsewhere"}, runs
root = next(each for each in runs if each.parent_run_id is None)
assert (root.id, root.total_tokens, root.tags) == (run_id, 5, ["kept"]), root
failed = until("failure", lambda: list(client.list_runs(project_name=project, error=True)))
assert "as it should" in failed[0].error

# Evaluation: of a function that waits, of one that does not, and of both together.
dataset = client.create_dataset(f"python-{uuid.uuid4()}")
client.create_examples(
    dataset_id=dataset.id,
    examples=[{"inputs": {"q": word}, "outputs": {"a": word.upper()}} for word in ("tea", "bread")],
)


def right(outputs, reference_outputs):
    return outputs["a"] == reference_outputs["a"]


def how_many(outputs, reference_outputs):
    return {"key": "how_many", "score": sum(each["a"] == other["a"] for each, other in zip(outputs, reference_outputs))}


async def wait_and_answer(inputs):
    return {"a": inputs["q"].upper()}


first = evaluate(
    lambda inputs: {"a": inputs["q"].upper()},
    data=dataset.name,
    evaluators=[right],
    summary_evaluators=[how_many],
    experiment_prefix="first",
    metadata={"kind": "upper"},
    num_repetitions=2,
)
rows = list(first)
assert len(rows) == 4 and all(each["evaluation_results"]["results"][0].score for each in rows), rows


async def second_experiment():
    results = await aevaluate(wait_and_answer, data=dataset.name, evaluators=[right], experiment_prefix="second", max_concurrency=2)
    return results.experiment_name, [each async for each in results]


second_name, rows = asyncio.run(second_experiment())
assert len(rows) == 2
third = evaluate(lambda inputs: {"a": "?"}, data=dataset.name, evaluators=[right], experiment_prefix="third")
assert [each["evaluation_results"]["results"][0].score for each in third] == [False, False]
client.flush()

experiments = until("experiments", lambda: (found := list(client.list_projects(reference_dataset_id=dataset.id))) and len(found) == 3 and found)
stats = until(
    "scores",
    lambda: (read := client.read_project(project_name=first.experiment_name, include_stats=True))
    and (read.feedback_stats or {}).get("right", {}).get("n") == 4
    and read,
)
assert stats.feedback_stats["right"]["avg"] == 1, stats.feedback_stats
read = asyncio.run(client.aread_project(project_name=second_name)) if hasattr(client, "aread_project") else None
assert read is None or read.name == second_name
again = evaluate(first.experiment_name, evaluators=[lambda outputs: {"key": "again", "score": len(outputs["a"])}])
assert len(list(again)) == 4


def prefer(runs, example):
    return {"key": "preferred", "scores": {each.id: float(each.outputs["a"] != "?") for each in runs}}


both = evaluate((second_name, third.experiment_name), evaluators=[prefer])
assert len(list(both)) == 2
assert len(experiments) == 3
client.close()
print("evaluated")
