"""ClickHouse's own HTTP server, from the library of its embedded edition: serve.py LIBRARY ARGUMENT…

The library has the command line of `clickhouse local`, which can listen. The call returns when its queries have ended, which the last one
never does.
"""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
arguments = [each.encode() for each in ["clickhouse", *sys.argv[2:]]]
library.chdb_query_cmdline.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
library.chdb_query_cmdline.restype = ctypes.c_void_p
library.chdb_result_error.argtypes = [ctypes.c_void_p]
library.chdb_result_error.restype = ctypes.c_char_p

result = library.chdb_query_cmdline(len(arguments), (ctypes.c_char_p * len(arguments))(*arguments))
error = library.chdb_result_error(result) if result else None
sys.exit(f"ClickHouse ended: {error.decode() if error else 'no reason given'}")
