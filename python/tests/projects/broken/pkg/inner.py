from good import graph as graph

from .names import NAME

assert NAME == "inside" and __name__ == "pkg.inner"
