// After the page:
print(latest.count)
