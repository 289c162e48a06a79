"""What tracing costs and does apart from the library's own part."""

import threading

import pytest

from treadle_python import tracing

ALL = {"project": "trials", "example": "7b430870-a032-468e-85fe-5803d2bb2a82"}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    from langsmith.utils import get_env_var, get_tracer_project

    for name in tracing.SWITCHES:
        monkeypatch.delenv(name, raising=False)
    for cached in (get_env_var, get_tracer_project):
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()


def test_nothing_is_done_where_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_is_on", lambda: pytest.fail("the library was asked"))
    before = threading.active_count()
    tracing.prepare_tracing()
    assert threading.active_count() == before
    assert tracing.callbacks_for({}) == []


def test_a_run_that_names_a_project_has_no_tracer_where_it_is_off() -> None:
    assert tracing.callbacks_for(ALL) == []


def test_an_example_is_named_at_the_root_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "a-key")
    # Nobody listens there, and nothing leaves the machine.
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")
    sent: list[tuple[str, object]] = []
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tracers.langchain import LangChainTracer

    def keep(self: LangChainTracer, run: object) -> None:
        sent.append((run.name, run.reference_example_id))  # type: ignore[attr-defined]

    monkeypatch.setattr(LangChainTracer, "_persist_run_single", keep)
    monkeypatch.setattr(LangChainTracer, "_update_run_single", staticmethod(lambda run: None))
    inner = RunnableLambda(lambda value: value).with_config(run_name="inner")
    outer = (inner | inner).with_config(run_name="outer")
    outer.invoke(1, {"callbacks": tracing.callbacks_for(ALL)})
    assert [(name, str(example)) for name, example in sent] == [
        ("outer", ALL["example"]),
        ("inner", "None"),
        ("inner", "None"),
    ]
