import DataSourceTesting
import Swappable

@MainActor let view = StrictListView<ArraySection<Int, Person>>(rows: { people })
@MainActor var people: [Person] = []

// On the main actor
// After the page:
print(screen.people.count)
