// Lists that are derived from another list and from parameters: a search, an order, a page.
//
//     swift run DerivedLists
import Swappable

nonisolated struct Peak: Identifiable, Hashable, Differentiable, CustomStringConvertible {
  let id: String
  var height: Int
  var description: String { id }
}

let peaks = ArrayDataSource([
  Peak(id: "Elbrus", height: 5642), Peak(id: "Mont Blanc", height: 4806),
  Peak(id: "Monte Rosa", height: 4634), Peak(id: "Dom", height: 4546),
])

// The list is derived once. The text and the order are properties that can change.
let text = Property("")
let order = Property(ElementOrder<Peak>.ascending(\.id))
let found =
  peaks
  .filter(by: text) { peak, text in text.isEmpty || peak.id.contains(text) }
  .sorted(by: order)
let observation = found.observe { event in
  switch event {
  case .initial(let contents, _): print("at first:", Array(contents))
  case .change(let change): print(change.changeset.summary, "->", Array(change.after))
  }
}

// Observers receive what a new value changes, and nothing else.
text.value = "o"
order.value = .descending(\.height)
order.value = order.value.reversed

// The list still follows its source.
peaks.append(Peak(id: "Weisshorn", height: 4506))
peaks.append(Peak(id: "Eiger", height: 3967))  // does not contain the text: no event

// A transaction changes the source and the parameters in one step.
withTransaction {
  peaks.remove(identifiedBy: "Dom")
  text.value = ""
  order.value = .ascending(\.id)
}
observation.dispose()

// MARK: A search while the user types

// If a longer text can only hide rows, say so. Then only the shown rows are tested again.
let typed = Property("")
let matches = peaks.filter(
  by: typed,
  effect: { $1.hasPrefix($0) ? .narrowing : $0.hasPrefix($1) ? .widening : .any }
) { peak, typed in
  if !typed.isEmpty { print("  test \(peak)") }
  return peak.id.hasPrefix(typed)
}
for value in ["M", "Monte", "M"] {
  typed.value = value
  print("\(value):", Array(matches.snapshot))
}
typed.value = ""

// MARK: Pages

// A page is a range of offsets.
let page = Property(0..<2)
let shown = found.window(page)
print("first page:", Array(shown.snapshot))
page.value = 2..<4
print("second page:", Array(shown.snapshot))

// A page around an element stays in place if elements appear before it.
let selected = Property<String?>("Mont Blanc")
let around = found.window(around: selected, before: 1, after: 1)
print("around \(selected.value ?? "nothing"):", Array(around.snapshot))
peaks.append(Peak(id: "Denali", height: 6190))
print("page of offsets:", Array(shown.snapshot), "around it:", Array(around.snapshot))
