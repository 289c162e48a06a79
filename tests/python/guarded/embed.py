"""Texts that begin alike are near one another."""


async def embed(texts: list[str]) -> list[list[float]]:
    return [[float(text.startswith("t")), float(text.startswith("b")), 0.1] for text in texts]
