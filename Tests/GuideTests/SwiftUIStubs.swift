/// The few SwiftUI declarations that guides use, without any behavior. They only check types.
enum SwiftUIStubs {
  @MainActor protocol View {
    associatedtype Body: View
    var body: Body { get }
  }

  struct Text: View {
    init(_ text: String) {}

    var body: Never { fatalError("a stub has no body") }
  }

  struct List<Row: View>: View {
    init<Rows: RandomAccessCollection>(_ rows: Rows, row: @escaping (Rows.Element) -> Row)
    where Rows.Element: Identifiable {}

    var body: Never { fatalError("a stub has no body") }
  }

  @propertyWrapper struct State<Value> {
    var wrappedValue: Value

    init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    init(initialValue: Value) { wrappedValue = initialValue }
  }
}

extension Never: SwiftUIStubs.View {
  var body: Never { fatalError("a stub has no body") }
}
