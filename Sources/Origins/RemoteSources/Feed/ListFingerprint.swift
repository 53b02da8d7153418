import Diffing
import ObservableCollections

/// A short text that identifies the contents of a list of encoded elements.
///
/// Equal lists have equal fingerprints in every process, whether a list was created at once or edited. Two
/// lists that differ in an element, in the order or in the count have different fingerprints, except with a
/// negligible probability. Following an edit of one element takes O(log *n*).
///
/// The fingerprint is computed from a product of matrices, as in the hash function of Tillich and Zémor ("Hashing
/// with SL2", 1994). Their function gives each bit one of two fixed matrices. Here, each element has its own matrix: its
/// BLAKE2b digest (RFC 7693) is two numbers modulo 2^255 - 19, which determine a matrix with determinant 1. A
/// product depends on the order of the matrices, but not on the order in which they are multiplied. A tree can
/// therefore keep the product of each part of the list.
///
/// The security of the product is an assumption. There is no proof that two different lists with equal products are hard
/// to find, and this variant has had no public review. The known attacks on the function of Tillich and Zémor exploit
/// its two small matrices. Here, the digests are assumed to behave like random numbers. The best attack that was considered
/// searches for products in a smaller group of matrices and takes about 2^127 steps. A fingerprint does not prove
/// where a list comes from: anyone can compute it.
final class ListFingerprint: @unchecked Sendable {
  // Sendable: only one thread at a time may use it.

  /// The matrix of each element.
  private var matrices: SummaryTree<FieldMatrix>
  private let key: String?

  /// Creates the fingerprint of a list.
  ///
  /// - Parameters:
  ///   - elements: The encoded elements in their order.
  ///   - key: The name of the member that identifies an element. Lists with different keys differ.
  init(_ elements: some Collection<[UInt8]>, key: String? = nil) {
    self.key = key
    matrices = SummaryTree(elements.map { FieldMatrix(of: $0) }, empty: .identity) { $0 * $1 }
  }

  /// Follows a change of the list.
  ///
  /// Do not call this method while another thread uses the fingerprint.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - bytes: A closure that returns the encoded element at an offset after the change. It is called once for
  ///     each inserted or updated element.
  /// - Complexity: O(*k* log *n*) for *k* operations, or O(*n*) if they are many.
  func apply(_ changeset: Changeset, bytes: (Int) -> [UInt8]) {
    matrices.follow(changeset, { FieldMatrix(of: bytes($0)) })
  }

  /// The fingerprint, as 52 lower-case letters and digits.
  ///
  /// - Complexity: O(1)
  var text: String {
    let words = matrices.total.canonical + [UInt64(matrices.count)]
    var bytes = words.flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    if let key { bytes += [0] + key.utf8 }
    return base32(BLAKE2b.digest(of: bytes, count: 32))
  }
}

/// A 2 by 2 matrix with determinant 1.
struct FieldMatrix: Sendable {
  // The rows are (a, b) and (c, d).
  private let a, b, c, d: FieldNumber

  static let identity = FieldMatrix(a: .one, b: .zero, c: .zero, d: .one)

  static func * (one: FieldMatrix, other: FieldMatrix) -> FieldMatrix {
    FieldMatrix(
      a: .sumOfProducts(one.a, other.a, one.b, other.c),
      b: .sumOfProducts(one.a, other.b, one.b, other.d),
      c: .sumOfProducts(one.c, other.a, one.d, other.c),
      d: .sumOfProducts(one.c, other.b, one.d, other.d))
  }

  /// The canonical digits of all four numbers.
  var canonical: [UInt64] { a.canonical + b.canonical + c.canonical + d.canonical }
}

extension FieldMatrix {
  /// Creates the matrix of an element: the product of an upper matrix, with the rows (1, `upper`) and (0, 1), and a
  /// lower matrix, with the rows (1, 0) and (`lower`, 1). Different numbers give different products.
  init(of bytes: [UInt8]) {
    self = BLAKE2b.withDigest(of: bytes) { words in
      let upper = FieldNumber(words[0], words[1], words[2], words[3])
      let lower = FieldNumber(words[4], words[5], words[6], words[7])
      return FieldMatrix(a: .one + upper * lower, b: upper, c: lower, d: .one)
    }
  }
}

/// Returns bytes as lower-case letters and digits of five bits each.
private func base32(_ bytes: [UInt8]) -> String {
  let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
  var text: [UInt8] = []
  var (bits, count) = (0, 0)
  for byte in bytes {
    (bits, count) = (bits << 8 | Int(byte), count + 8)
    while count >= 5 {
      count -= 5
      text.append(digits[bits >> count & 31])
    }
    bits &= 1 << count - 1
  }
  if count > 0 { text.append(digits[bits << (5 - count) & 31]) }
  return String(decoding: text, as: UTF8.self)
}
