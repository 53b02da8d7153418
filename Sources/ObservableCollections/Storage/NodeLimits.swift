/// How large arrays and the nodes of a tree become.
package struct NodeLimits: Sendable {
  /// The most elements of a leaf; at least 2. Only a root has less than half of them.
  package let leaf: Int
  /// The most children of an inner node; at least 4. Only a root has less than half of them.
  package let inner: Int
  /// Up to how many elements an edit leaves one array, or makes one again of a tree half as large.
  package let flat: Int
  /// An edit of at least one in so many elements is done on one array, which costs no more.
  package let bulk: Int

  package init(leaf: Int, inner: Int, flat: Int, bulk: Int) {
    self.leaf = leaf
    self.inner = inner
    self.flat = flat
    self.bulk = bulk
  }

  /// What the engine uses.
  // Measured on rows with strings and on integers: of a million, leaves of half the size and inner nodes
  // of twice the size change a figure by a tenth, one way for rows and the other way for integers. Of 256
  // rows, an array takes twice as long as a tree; of as many integers, a tree takes a fifth longer.
  package static var standard: NodeLimits {
    NodeLimits(leaf: 64, inner: 16, flat: 256, bulk: 32)
  }
}
