let folder = "."
