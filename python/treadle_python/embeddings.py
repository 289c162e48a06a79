"""The project's own embedding of texts, for the store's search."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from .graph_factory import describe
from .import_faults import NotUsable


class Embedder:
    """A function of texts to vectors, or an object of LangChain's `Embeddings`."""

    def __init__(self, value: Any) -> None:
        if not callable(value) and not hasattr(value, "embed_documents"):
            raise NotUsable(
                f"store.index.embed names {describe(value)}. Export a function that takes texts and returns "
                "vectors, or an object with embed_documents."
            )
        self._value = value

    async def embed(self, texts: list[str]) -> list[list[float]]:
        value = self._value
        if hasattr(value, "aembed_documents"):
            vectors = await value.aembed_documents(texts)
        elif hasattr(value, "embed_documents"):
            vectors = await asyncio.to_thread(value.embed_documents, texts)
        elif inspect.iscoroutinefunction(value):
            vectors = await value(texts)
        else:
            vectors = await asyncio.to_thread(value, texts)
            if inspect.isawaitable(vectors):
                vectors = await vectors
        return [[float(number) for number in vector] for vector in vectors]
