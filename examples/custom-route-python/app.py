import os

from fastapi import FastAPI, Request, Response

# Served beside the agent server's own paths.
app = FastAPI()


@app.get("/hello/{name}")
async def hello(name: str) -> dict:
    return {"hello": name, "deployment": os.environ.get("LANGSMITH_DEPLOYMENT_NAME")}


@app.post("/echo")
async def echo(request: Request) -> Response:
    return Response(await request.body(), media_type="text/plain")
