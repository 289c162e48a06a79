"""Takes its time when it is imported, and is not quiet about it."""

import logging
import sys
import time

from good import graph as graph

print("printed while it was imported")
sys.stderr.write("written while it was imported\n")
logging.getLogger("slow").warning("logged while it was imported")
# Longer than the interpreter may stand still once it serves.
time.sleep(3)
