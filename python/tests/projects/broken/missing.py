import json

import a_package_that_nobody_has

graph = a_package_that_nobody_has.graph(json)
