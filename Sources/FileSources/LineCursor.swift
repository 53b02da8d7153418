import FileWatching

/// How far a file of lines was read.
struct LineCursor: Sendable {
  /// What the file was like just before.
  var stamp: FileStamp
  /// Up to which byte: the start of a line.
  var position: Int
  /// The lines before it.
  var lineCount: Int
  /// By which the bytes before it are known again.
  var fingerprint: Int
  /// The line behind it, if that was taken although it has no end yet.
  var openLine: [UInt8]?

  /// Whether nothing before this place has changed, as far as the stamp and the margins tell.
  ///
  /// A file of the same length that was written to is not trusted; one that grew was appended to if the
  /// margins are the same.
  func holds(for stamp: FileStamp, margins: FileMargins) -> Bool {
    stamp.identity == self.stamp.identity
      && (stamp.size > self.stamp.size
        || stamp.size == self.stamp.size && stamp.modified == self.stamp.modified
          // The time of the last write can be set back, this one cannot.
          && stamp.changed == self.stamp.changed)
      && margins.fingerprint == fingerprint
  }
}

/// The first and the last bytes before a place in a file.
struct FileMargins: Sendable {
  /// So many bytes on each side; a file of twice as many is compared as a whole.
  static let span = 8_192

  private var head: [UInt8] = []
  private var tail: [UInt8] = []
  private(set) var position = 0

  /// The margins of nothing.
  init() {}

  /// Reads the margins of the bytes before a place.
  init(of file: OpenedFile, upTo position: Int) throws(LineReadingFault) {
    func bytes(_ range: Range<Int>) throws(LineReadingFault) -> [UInt8] {
      if range.isEmpty { return [] }
      return try file.read(range.lowerBound, range.count).mapError(LineReadingFault.file).get()
    }
    self.position = position
    let headEnd = min(position, Self.span)
    head = try bytes(0..<headEnd)
    tail = try bytes(max(headEnd, position - Self.span)..<position)
  }

  /// Goes on behind bytes that follow.
  mutating func append(_ bytes: ArraySlice<UInt8>) {
    position += bytes.count
    let first = bytes.prefix(Self.span - head.count)
    head += first
    let rest = bytes.dropFirst(first.count).suffix(Self.span)
    tail.removeFirst(max(0, tail.count + rest.count - Self.span))
    tail += rest
  }

  /// A hash of the margins and the place.
  var fingerprint: Int {
    var hasher = Hasher()
    hasher.combine(position)
    JSONBytes.hash(head, head.indices, into: &hasher)
    JSONBytes.hash(tail, tail.indices, into: &hasher)
    return hasher.finalize()
  }
}
