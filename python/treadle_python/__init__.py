"""The Python side of Treadle: runs a project's graphs on behalf of the server, over two sockets."""
