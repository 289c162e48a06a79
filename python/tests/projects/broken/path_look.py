import sys

from good import graph as graph

print("path: " + ":".join(sys.path))
