import DataSourceTesting
import Swappable

@MainActor let view = StrictListView<ArraySection<Group, Chore>>(sections: { [] })

// On the main actor
// After the page:
print(screen.groups.count)
