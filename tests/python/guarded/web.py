"""The project's own routes, with middleware and a lifespan."""

from contextlib import asynccontextmanager

import pool
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import StreamingResponse


@asynccontextmanager
async def lifespan(app: FastAPI):
    pool.set_open(True)
    yield
    pool.set_open(False)


app = FastAPI(lifespan=lifespan)


@app.middleware("http")
async def mark(request: Request, call_next):
    response = await call_next(request)
    response.headers["x-marked"] = "yes"
    return response


@app.get("/hello/{name}")
async def hello(name: str, loud: bool = False) -> dict:
    return {"hello": name.upper() if loud else name, "pooled": pool.is_open()}


@app.post("/size")
async def size(request: Request) -> dict:
    return {"size": len(await request.body())}


@app.get("/lines")
async def lines() -> StreamingResponse:
    async def each():
        for number in range(3):
            yield f"line {number}\n"

    return StreamingResponse(each(), media_type="text/plain")


@app.get("/broken")
async def broken() -> dict:
    raise RuntimeError("the route's own fault")


@app.websocket("/live")
async def live(socket: WebSocket) -> None:
    await socket.accept()
