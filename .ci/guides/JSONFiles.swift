// After the page:
print(entries.count, anything.count, names.count, payments.count, log.count, services.count)
print(items.count, rows.count, export.count)
