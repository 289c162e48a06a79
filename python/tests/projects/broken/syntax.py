graph = (
    1 +
)
