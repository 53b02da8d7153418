// After the page:
print(sorted.count)
