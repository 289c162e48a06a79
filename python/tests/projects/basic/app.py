"""A web application of the project's own, for the tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    print("lifespan begins")
    yield {"pool": "a pool"}
    print("lifespan ends")


app = FastAPI(lifespan=lifespan)


@app.middleware("http")
async def stamp(request: Request, call_next: Any) -> Any:
    response = await call_next(request)
    response.headers["x-stamp"] = "seen"
    return response


@app.post("/things/{name}")
async def thing(name: str, request: Request) -> dict[str, Any]:
    body = await request.json()
    return {"name": name, "body": body, "q": request.query_params.get("q"), "pool": request.state.pool}


@app.get("/ticks")
async def ticks() -> StreamingResponse:
    async def produce() -> AsyncIterator[bytes]:
        try:
            for number in range(1000):
                yield f"{number}\n".encode()
                await asyncio.sleep(0.01)
        finally:
            print("ticks stopped")

    return StreamingResponse(produce())
