/// A view of one list that takes changes in batches: a table, a collection, a web page, a terminal.
///
/// A view asks whoever owns the data what to show, and is told here what has become of it. All changes come
/// inside the block of `performBatchUpdates`, where the data is replaced before the first of them:
///
///     view.performBatchUpdates {
///       rows = ["b", "c"]            // was ["a", "b"]
///       view.deleteItems(at: [0])
///       view.insertItems(at: [1])
///     } completion: { _ in }
///
/// Deletions, reloads and origins of moves count in the data before the batch, insertions and
/// destinations in the data after it. Reloads come in a batch of their own. The names are those of
/// UIKit's collection view.
///
/// Of a view with sections, see ``BatchUpdatingSectionedListView``.
@MainActor
public protocol BatchUpdatingListView: AnyObject {
  /// Shows all of the present data anew, without animation.
  func reloadData()

  /// Runs a block of changes, and shows what they lead to.
  ///
  /// - Parameters:
  ///   - updates: Replaces the data and tells the changes; to be run once, before this returns.
  ///   - completion: To be called once, when what was animated has come to rest, or at once where nothing
  ///     is; with false where the animation was cut short.
  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (_ isFinished: Bool) -> Void)

  /// Takes items away.
  ///
  /// - Parameter offsets: Offsets before the batch, ascending.
  func deleteItems(at offsets: [Int])

  /// Puts items in.
  ///
  /// - Parameter offsets: Offsets after the batch, ascending.
  func insertItems(at offsets: [Int])

  /// Shows items anew whose content differs.
  ///
  /// - Parameter offsets: Offsets before the batch, ascending.
  func reloadItems(at offsets: [Int])

  /// Moves an item.
  ///
  /// - Parameters:
  ///   - source: Its offset before the batch.
  ///   - destination: Its offset after the batch.
  func moveItem(at source: Int, to destination: Int)
}
