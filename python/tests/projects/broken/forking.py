import os

from good import graph as graph

child = os.fork()
if child != 0:
    os.waitpid(child, 0)
