#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

import ObservableCollections
import SwappablePrimitives
import SwappableSQLite3

extension SQLiteDatabase {
  /// Returns the address of a file that SQLite reads without locks and without a log.
  static func immutableAddress(of path: ByteString) -> ByteString {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = path.bytes.flatMap { byte in
      byte == UInt8(ascii: "/")
        || (UInt8(ascii: "0")...UInt8(ascii: "z")).contains(byte)
          && !"?\\".utf8.contains(byte)
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return "file:" + ByteString(bytes: bytes) + "?immutable=1"
  }

  /// Throws if reading would create files of a write-ahead log that the owner of the database could not use, or if it could
  /// not create them.
  func checkLogFiles(of file: ByteString) throws(SQLiteError) {
    let missing = ["-shm", "-wal"].filter { FileLookup(file + $0) == .missing }
    guard !missing.isEmpty, hasLog, let owner = file.fileStatus()?.st_uid else { return }
    let folder = file.parentDirectory
    let canCreate = folder.withCString { faccessat(AT_FDCWD, $0, W_OK | X_OK, AT_EACCESS) } == 0
    let user = geteuid()
    // SQLite gives the files that root creates to the owner.
    if canCreate, user == 0 || user == owner { return }
    let names = missing.map { (file + $0).pathNames.last?.description ?? "" }
      .joined(separator: " and ")
    let reason =
      canCreate
      ? "they would belong to you, and the owner of the database could no longer write"
      : "this is not permitted, or the file system is read-only"
    throw SQLiteError(
      .logFiles,
      "the database is in WAL mode, so its first reader must create \(names) in its folder: \(reason)",
      path: path,
      help:
        "read it as its owner, or while a program of the owner has it open, or as a file that nobody writes "
        + "(SQLiteConnection.Access.immutable)")
  }

  /// A Boolean value that indicates whether the header of the file says that there is a write-ahead log.
  ///
  /// It is read through SQLite's own handle: closing another one would release the locks of the whole process.
  private var hasLog: Bool {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK,
      let file, let read = file.pointee.pMethods?.pointee.xRead
    else { return false }
    var versions: (UInt8, UInt8) = (0, 0)
    return read(file, &versions, 2, 18) == SQLITE_OK && versions == (2, 2)
  }
}

extension SourceStatus.Diagnostic {
  /// A remark on a file that is read without its locks and its log.
  static func immutable(_ path: ByteString) -> SourceStatus.Diagnostic {
    let unsaved = ["-wal", "-journal"].first { suffix in
      (path + suffix).fileStatus().map { $0.st_size > 0 } ?? false
    }
    let warning =
      unsaved.map {
        " The contents may be wrong: \(path)\($0) has what a program has not saved in the file."
      } ?? ""
    return SourceStatus.Diagnostic(
      code: "immutable",
      message: "\(path) is read as a file that nobody writes, so changes are not shown.\(warning)")
  }
}
