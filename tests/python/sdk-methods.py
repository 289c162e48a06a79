"""Calls every method of the unmodified `langgraph-sdk`, synchronous and not, and fails for one it does not know.

Arguments: the address of an agent server, and a folder for what its graph `steps` leaves there."""

import asyncio
import inspect
import sys
import uuid
from pathlib import Path

import httpx
from langgraph_sdk import get_client, get_sync_client

url, folder = sys.argv[1], Path(sys.argv[2])
# What the methods below are made of.
not_tried = {"http": {"delete", "get", "patch", "post", "put", "request_reconnect", "stream"}}
said = {"messages": [{"role": "user", "content": "hi"}]}


class Tried:
    """The methods of one kind of client, and which of them were called."""

    def __init__(self, client):
        self.client = client
        self.done = {}

    async def __call__(self, name, /, *args, **kwargs):
        """Calls a method; what it streams is read to its end."""
        part, method = name.split(".")
        self.done.setdefault(part, set()).add(method)
        try:
            found = getattr(getattr(self.client, part), method)(*args, **kwargs)
            if inspect.isawaitable(found):
                found = await found
            if hasattr(found, "__aiter__"):
                return [each async for each in found]
            return list(found) if inspect.isgenerator(found) else found
        except Exception as error:
            raise AssertionError(f"{name}: {error!r}") from error

    def unknown(self):
        for part, value in vars(self.client).items():
            known = {name for name, _ in inspect.getmembers(type(value), callable) if not name.startswith("_")}
            left = known - self.done.get(part, set()) - not_tried.get(part, set())
            if left and type(value).__module__.startswith("langgraph_sdk"):
                yield f"{part}: {', '.join(sorted(left))}"


async def refused(call):
    """The status that the server answers."""
    try:
        await call
    except AssertionError as error:
        return getattr(getattr(error.__cause__, "response", None), "status_code", None)


async def try_assistants(call):
    named = f"sdk-{uuid.uuid4()}"
    made = await call("assistants.create", "echo", name=named, metadata={"for": named}, context={"a": 1}, description="d")
    key = made["assistant_id"]
    assert (await call("assistants.get", key))["name"] == named
    assert (await call("assistants.update", key, metadata={"more": 1}, name="renamed"))["version"] == 2
    assert [each["version"] for each in await call("assistants.get_versions", key)] == [2, 1]
    assert (await call("assistants.set_latest", key, 1))["name"] == named
    found = await call("assistants.search", metadata={"for": named}, graph_id="echo", sort_by="name", sort_order="asc")
    assert [each["assistant_id"] for each in found] == [key]
    paged = await call("assistants.search", limit=1, response_format="object")
    assert (len(paged["assistants"]), paged["next"]) == (1, "1"), paged
    assert await call("assistants.count", metadata={"for": named}) == 1
    drawn = await call("assistants.get_graph", "nested", xray=True)
    assert {each["id"] for each in drawn["nodes"]} >= {"__start__", "inner:ask", "__end__"}, drawn
    schemas = await call("assistants.get_schemas", "echo")
    assert "messages" in schemas["input_schema"]["properties"], schemas
    assert set(await call("assistants.get_subgraphs", "nested", recurse=True)) == {"inner"}
    await call("assistants.delete", key, delete_threads=True)
    assert await refused(call("assistants.get", key)) == 404


async def try_threads(call):
    mark = str(uuid.uuid4())
    thread = await call("threads.create", metadata={"mark": mark}, thread_id=str(uuid.uuid4()), graph_id="echo", ttl=60)
    key = thread["thread_id"]
    again = await call("threads.create", thread_id=key, if_exists="do_nothing")
    assert again["thread_id"] == key
    await call("runs.wait", key, "echo", input=said)
    assert (await call("threads.get", key, include=["ttl"]))["status"] == "idle"
    state = await call("threads.get_state", key, subgraphs=True)
    assert [each["type"] for each in state["values"]["messages"]] == ["human", "ai"]
    update = await call("threads.update_state", key, {"messages": [{"role": "user", "content": "more"}]}, as_node="echo")
    assert update["checkpoint"]["thread_id"] == key
    history = await call("threads.get_history", key, limit=2)
    assert len(history) == 2 and len(history[0]["values"]["messages"]) == 3
    older = await call("threads.get_history", key, before=history[0]["checkpoint"])
    assert older[0]["checkpoint"] == history[1]["checkpoint"]
    assert (await call("threads.update", key, metadata={"more": 1}))["metadata"]["more"] == 1
    assert await call("threads.update", key, metadata={"more": 2}, return_minimal=True) is None
    select = ["thread_id", "status", "values"]
    [found] = await call("threads.search", metadata={"mark": mark}, ids=[key], select=select, extract={"last": "values.messages[-1].content"})
    assert found["extracted"] == {"last": "more"}, found
    assert await call("threads.count", metadata={"mark": mark}, status="idle") == 1
    copy = await call("threads.copy", key)
    assert copy["thread_id"] != key
    filled = await call("threads.create", graph_id="echo", supersteps=[{"updates": [{"values": said, "as_node": "echo"}]}])
    assert (await call("threads.get_state", filled["thread_id"]))["values"]["messages"][0]["content"] == "hi"
    assert (await call("threads.prune", [filled["thread_id"]], strategy="keep_latest"))["pruned_count"] == 1
    await call("threads.delete", copy["thread_id"])
    assert await refused(call("threads.get", copy["thread_id"])) == 404


async def try_runs(call):
    thread = (await call("threads.create"))["thread_id"]
    modes = ["values", "updates", "messages-tuple", "custom", "debug", "events"]
    parts = await call("runs.stream", thread, "tokens", input=said, stream_mode=modes, stream_subgraphs=True, stream_resumable=True)
    assert {"metadata", "values", "updates", "messages", "custom", "debug", "events"} <= {each.event for each in parts}
    run = await call("runs.create", thread, "echo", input=said, metadata={"a": 1}, multitask_strategy="enqueue", stream_resumable=True, durability="sync")
    joined = await call("runs.join", thread, run["run_id"])
    assert joined["count"] == 1
    assert (await call("runs.get", thread, run["run_id"]))["status"] == "success"
    streamed = await call("runs.join_stream", thread, run["run_id"], last_event_id="-1")
    assert any(each.event == "values" for each in streamed), streamed
    assert len(await call("runs.list", thread, status="success", select=["run_id"])) == 2
    second = await call("runs.create", None, "echo", input=said)
    batch = [{"assistant_id": "echo", "input": said}, {"assistant_id": "echo", "input": said}]
    assert len(await call("runs.create_batch", batch)) == 2 and second["run_id"]
    await call("runs.delete", thread, run["run_id"])

    failed = await call("runs.wait", None, "trouble", input={"kind": "raise"}, raise_error=False)
    assert failed["__error__"]["message"] == "the node's own words", failed
    question = await call("runs.wait", thread, "approval", input={"subject": "go"})
    assert question["__interrupt__"][0]["value"] == {"question": "May I go?"}
    assert (await call("runs.wait", thread, "approval", command={"resume": False}))["answer"] is False

    for one in (True, False):
        place = folder / str(uuid.uuid4())
        place.mkdir()
        waiting = (await call("threads.create"))["thread_id"]
        held = await call("runs.create", waiting, "steps", input={"folder": str(place), "wait": "second"})
        while "second" not in ((place / "began").read_text() if (place / "began").exists() else ""):
            await asyncio.sleep(0.02)
        if one:
            await call("runs.cancel", waiting, held["run_id"], wait=True)
        else:
            await call("runs.cancel_many", thread_id=waiting, run_ids=[held["run_id"]], action="interrupt")
            await call("runs.join", waiting, held["run_id"])
        assert (await call("runs.get", waiting, held["run_id"]))["status"] == "interrupted"


async def try_crons(call):
    thread = (await call("threads.create"))["thread_id"]
    daily = await call("crons.create", "echo", schedule="0 3 * * *", input=said, metadata={"a": 1}, timezone="Europe/Paris")
    bound = await call("crons.create_for_thread", thread, "echo", schedule="0 4 * * *", input=said)
    assert await call("crons.count", thread_id=thread) == 1
    found = await call("crons.search", thread_id=thread, sort_by="created_at", limit=5)
    assert [each["cron_id"] for each in found] == [bound["cron_id"]]
    assert (await call("crons.update", daily["cron_id"], schedule="0 5 * * *", enabled=False))["schedule"] == "0 5 * * *"
    for each in (daily, bound):
        await call("crons.delete", each["cron_id"])


async def try_store(call):
    namespace = ["sdk", str(uuid.uuid4())]
    await call("store.put_item", namespace, "a", {"text": "tea"}, index=False, ttl=60)
    assert (await call("store.get_item", namespace, "a", refresh_ttl=True))["value"] == {"text": "tea"}
    found = await call("store.search_items", namespace, filter={"text": "tea"})
    assert [each["key"] for each in found["items"]] == ["a"]
    assert (await call("store.list_namespaces", prefix=namespace))["namespaces"] == [namespace]
    await call("store.delete_item", namespace, "a")
    assert await call("store.get_item", namespace, "a") is None


async def try_joining(call):
    """A thread's stream has no end: the reader leaves."""
    thread = (await call("threads.create"))["thread_id"]
    await call("runs.wait", thread, "echo", input=said)
    call.done["threads"].add("join_stream")
    stream = call.client.threads.join_stream(thread, last_event_id="-", stream_mode=["run_modes", "lifecycle"])
    if inspect.isawaitable(stream):
        stream = await stream
    if hasattr(stream, "__aiter__"):
        first = await anext(stream)
        await stream.aclose()
    else:
        first = next(stream)
        stream.close()
    assert first.event and isinstance(first.data, dict), first


async def try_client(client):
    call = Tried(client)
    for part in (try_assistants, try_threads, try_runs, try_crons, try_store, try_joining):
        await part(call)
    call.done["threads"].add("stream")  # protocol-streams.py
    unknown = list(call.unknown())
    assert not unknown, f"methods nobody tried: {unknown}"
    return sum(len(methods) for methods in call.done.values())


async def main():
    async with get_client(url=url) as client:
        print(await try_client(client), "asynchronous methods")
    with get_sync_client(url=url) as client:
        print(await try_client(client), "synchronous methods")


assert httpx.get(f"{url}/ok").status_code == 200
asyncio.run(main())
