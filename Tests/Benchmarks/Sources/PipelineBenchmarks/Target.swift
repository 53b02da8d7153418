/// The aims for a pipeline of a million rows, on a machine where an update of a list without operators took 4 µs when the
/// aims were written.
struct Target: Sendable {
  /// The time that an edit takes longer than without operators, in microseconds.
  let edit: Double
  /// The same for an edit that changes the place or the membership of a row.
  let change: Double
  /// The time to derive the list, in microseconds.
  var build: Double?
  /// The memory for each row of the source, in addition to the memory of the derived list itself.
  var bytes: Double?
  /// A Boolean value that indicates whether there is an aim for an edit of a thousand rows.
  var isForFew = false

  static let unary = Target(edit: 2.5, change: 2.5, bytes: 8, isForFew: true)
  static let filter = Target(edit: 2.5, change: 2.5, bytes: 1, isForFew: true)
  static let sorted = Target(edit: 4, change: 6, build: 1e6, bytes: 40)
  static let filterAndSort = Target(edit: 7, change: 7)
  static let grouped = Target(edit: 4, change: 4, build: 0.8e6, bytes: 40)
  static let keyed = Target(edit: 5, change: 5, bytes: 60)

  /// The time of an update without operators at that time, in microseconds, on the machine that the aims are for.
  static let plain = 4.0
  /// The time of an update of the `Reference` on that machine, in a run with one pipeline. The list of that time took
  /// 2.3 times as long (2.2 to 2.5 in most of twelve runs, in turn with it).
  static let reference = 1.75
  /// The growth of the time of an edit from a thousand to a million rows.
  static let growth = 4.0
  /// The time of an edit of a thousand rows with one operator, in microseconds.
  static let few = 5.0
  /// The times of changes of parameters, in microseconds.
  static let parameterChanges = [
    "filter(by:), of all rows, half stay": 40e3,
    "filter(by:), of half the rows, the others come": 40e3,
    "filter(by:effect:), of 1,000 rows, 900 stay": 100,
    "sorted(by: property), reversed": 150e3,
  ]
}
