import asyncio

from good import graph as graph

asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())
asyncio.run(asyncio.sleep(0))
