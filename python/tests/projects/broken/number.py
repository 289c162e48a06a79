graph = 5
