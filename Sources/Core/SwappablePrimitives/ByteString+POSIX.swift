#if canImport(Darwin)
  package import Darwin
#else
  package import Glibc
#endif

/// Text of the system, such as a path or an argument of the program, as bytes that need not be UTF-8.
///
/// Two texts are equal if they have the same bytes. Two equal `String`s can be the names of two files.
package struct ByteString: Sendable, Hashable {
  package var bytes: [UInt8]

  package init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// Creates the UTF-8 of a text.
  package init(_ text: some StringProtocol) { bytes = Array(text.utf8) }

  /// Copies a C string.
  package init(cString: UnsafePointer<CChar>) {
    bytes = Array(UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
  }

  /// The text, or `nil` if the bytes are not UTF-8.
  package var string: String? { String(validating: bytes, as: UTF8.self) }

  /// Calls a closure with the text as a C string.
  package func withCString<Result>(
    _ body: (UnsafePointer<CChar>) throws -> Result
  ) rethrows -> Result {
    try body(bytes.map { CChar(bitPattern: $0) } + [0])
  }

  package static func + (left: ByteString, right: ByteString) -> ByteString {
    ByteString(bytes: left.bytes + right.bytes)
  }
}

extension ByteString {
  package var isEmpty: Bool { bytes.isEmpty }

  /// Returns a Boolean value that indicates whether the bytes contain an ASCII character.
  package func contains(_ mark: Unicode.Scalar) -> Bool { bytes.contains(UInt8(ascii: mark)) }

  package func hasPrefix(_ prefix: ByteString) -> Bool { bytes.starts(with: prefix.bytes) }

  package func dropFirst(_ count: Int) -> ByteString { ByteString(bytes: bytes.dropFirst(count)) }

  /// Returns the parts before and after the first occurrence of an ASCII character, or `nil` if it does not occur.
  package func split(at mark: Unicode.Scalar) -> (before: ByteString, after: ByteString)? {
    guard let place = bytes.firstIndex(of: UInt8(ascii: mark)) else { return nil }
    return (ByteString(bytes: bytes[..<place]), ByteString(bytes: bytes[(place + 1)...]))
  }

  /// The text without ASCII white space at its end.
  package var withoutTrailingSpace: ByteString {
    let end = bytes.lastIndex { !Self.isSpace($0) }.map { $0 + 1 } ?? 0
    return ByteString(bytes: bytes[..<end])
  }

  /// The first word, and the text after it, without the ASCII white space before them.
  package var firstWord: (word: ByteString, rest: ByteString) {
    let text = bytes.drop(while: Self.isSpace)
    let word = text.prefix { !Self.isSpace($0) }
    let rest = text.dropFirst(word.count).drop(while: Self.isSpace)
    return (ByteString(bytes: word), ByteString(bytes: rest))
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}

extension ByteString: Comparable {
  /// Compares the bytes as unsigned numbers.
  package static func < (left: ByteString, right: ByteString) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension ByteString: CustomStringConvertible, ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }

  /// The text for people. A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  package var description: String {
    if let string { return string }
    return parts.map { part in
      switch part {
      case .text(let text): text
      case .byte(let byte): "\\x" + byte.hexadecimal
      }
    }
    .joined()
  }
}

extension ByteString {
  /// A part of a text.
  package enum Part: Sendable, Hashable {
    case text(String)
    /// A byte that is not UTF-8.
    case byte(UInt8)
  }

  /// The parts that are UTF-8, and the bytes between them.
  package var parts: [Part] {
    var parts: [Part] = []
    var parser = Unicode.UTF8.ForwardParser()
    var input = bytes.makeIterator()
    var (start, position) = (0, 0)
    func endText() {
      guard start < position else { return }
      parts.append(.text(String(decoding: bytes[start..<position], as: UTF8.self)))
    }
    while true {
      switch parser.parseScalar(from: &input) {
      case .valid(let scalar): position += scalar.count
      case .error(let count):
        endText()
        start = position + count
        parts += bytes[position..<start].map { .byte($0) }
        position = start
      case .emptyInput:
        endText()
        return parts
      }
    }
  }
}

// MARK: - Text in place of bytes

extension ByteString {
  /// The first scalar of a private range of 256, each of which replaces a byte that is not UTF-8.
  private static let firstStandIn: UInt32 = 0x10_FE00

  /// The text with a private scalar in place of each byte that is not UTF-8, for functions that need text.
  package var encoded: String {
    if let string { return string }
    return parts.map { part in
      switch part {
      case .text(let text): text
      case .byte(let byte):
        Unicode.Scalar(Self.firstStandIn + UInt32(byte)).map { String($0) } ?? ""
      }
    }
    .joined()
  }

  /// Creates the bytes of which a text is the encoded form.
  package init(encoded text: String) {
    bytes = []
    for scalar in text.unicodeScalars {
      if let byte = UInt8(exactly: Int64(scalar.value) - Int64(Self.firstStandIn)), byte >= 0x80 {
        bytes.append(byte)
      } else {
        bytes += Array(String(scalar).utf8)
      }
    }
  }
}

extension String {
  /// Returns a Boolean value that indicates whether two texts have the same bytes.
  ///
  /// Two `String`s that are spelled differently in Unicode can be equal. Most other systems compare bytes.
  package func hasSameBytes(as other: String) -> Bool {
    // Most texts are unequal, which the first comparison finds faster.
    self == other && utf8.elementsEqual(other.utf8)
  }

  /// Returns a Boolean value that indicates whether a text precedes another one. Of two equal `String`s, the bytes
  /// decide.
  package func precedes(_ other: String) -> Bool {
    self == other ? utf8.lexicographicallyPrecedes(other.utf8) : self < other
  }

  /// Returns the text with each occurrence of an ASCII character twice, as in quotation marks of SQL.
  package func doubling(_ mark: Unicode.Scalar) -> String {
    // Scalars: a combining character after the mark forms one character with it.
    var doubled = UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar == mark { doubled.append(mark) }
      doubled.append(scalar)
    }
    return String(doubled)
  }
}

// MARK: - Paths

extension ByteString {
  private static let slash = UInt8(ascii: "/")

  package var isAbsolutePath: Bool { bytes.first == Self.slash }

  /// The path, independent of the working directory.
  ///
  /// The property resolves neither symbolic links nor `..`. If the working directory was removed, the path
  /// stays relative, because no absolute path leads to the same place.
  package var absolutePath: ByteString {
    guard !isAbsolutePath, let directory = getcwd(nil, 0) else { return self }
    defer { free(directory) }
    return ByteString(cString: directory).appending(name: self)
  }

  /// Returns the path of a name in the directory at this path.
  package func appending(name: ByteString) -> ByteString {
    let start = bytes.last == Self.slash ? bytes : bytes + [Self.slash]
    return ByteString(bytes: start + name.bytes)
  }

  /// The names between slashes. There is none for several slashes in a row.
  package var pathNames: [ByteString] {
    bytes.split(separator: Self.slash).map { ByteString(bytes: $0) }
  }

  /// The path of the directory that contains the file at this path.
  package var parentDirectory: ByteString {
    guard let slash = bytes.lastIndex(of: Self.slash) else { return "." }
    return slash == 0 ? "/" : ByteString(bytes: bytes[..<slash])
  }

  /// Returns the status of the file at a path, or `nil` if it cannot be found.
  package func fileStatus() -> stat? {
    var status = stat()
    return withCString { stat($0, &status) } == 0 ? status : nil
  }

  /// The target of the symbolic link at the path, or `nil` if there is none. Then, `errno` is the reason.
  package var linkTarget: ByteString? {
    var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = target.withUnsafeMutableBytes { target in
      target.baseAddress.map { start in withCString { readlink($0, start, target.count) } } ?? -1
    }
    return count < 0 ? nil : ByteString(bytes: target[..<count])
  }

  package var isDirectory: Bool { fileStatus().map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }
  package var isFile: Bool { fileStatus().map { $0.st_mode & S_IFMT == S_IFREG } ?? false }

  /// Returns the names in the directory at this path, in no particular order, without `.` and `..`.
  ///
  /// - Parameter folder: The open folder where a relative path begins.
  /// - Returns: The names, or `nil` if the directory cannot be read. Then, `errno` is the reason.
  package func namesInDirectory(from folder: Int32 = AT_FDCWD) -> [ByteString]? {
    let descriptor = withCString { openat(folder, $0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0, let directory = fdopendir(descriptor) else { return nil }
    defer { closedir(directory) }
    var names: [ByteString] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        ByteString(bytes: bytes.prefix { $0 != 0 })
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
