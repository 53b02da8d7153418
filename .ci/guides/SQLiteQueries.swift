// After the page:
print(latest.count, shown.count)
