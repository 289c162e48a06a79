NAME = "inside"
