import DataSourceTesting
import FileWatching
import Foundation
import SwappablePrimitives
import TestSupport
import Testing

@testable import FileSources

@Suite struct FileDifferenceTests {
  /// Compares a file with its previous version, and returns the buffers that the file was read into.
  private func compare(
    _ new: [UInt8], with old: [UInt8]
  ) throws -> (difference: FileDifference, buffers: [UnsafeMutableRawBufferPointer]) {
    let buffers = Shared<[SendableBuffer]>([])
    var files = FileAccess.live
    let stamp = FileStamp(
      identity: FileIdentity(device: 1, inode: 1), size: Int64(new.count), modified: 1, changed: 1)
    files.open = { path in
      .success(
        OpenedFile(path: path, stamp: { .success(stamp) }) { offset, buffer in
          buffers.modify { $0.append(SendableBuffer(buffer: buffer)) }
          let bytes = new[offset...].prefix(buffer.count)
          buffer.copyBytes(from: bytes)
          return .success(bytes.count)
        })
    }
    let difference = try FileDifference.read("/a", comparingWith: old, in: files)
    return (difference, buffers.value.map(\.buffer))
  }

  private struct SendableBuffer: @unchecked Sendable {
    // Sendable: tests read only its address and its count.
    let buffer: UnsafeMutableRawBufferPointer
  }

  private func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  @Test func `the same bytes are compared in one buffer`() throws {
    let old = bytes(3 * FileDifference.chunkSize + 5)
    let (difference, buffers) = try compare(old, with: old)
    guard case .same = difference else {
      Issue.record("\(difference)")
      return
    }
    #expect(buffers.map(\.count) == Array(repeating: FileDifference.chunkSize, count: 3) + [5])
    #expect(Set(buffers.map(\.baseAddress)).count == 1)
  }

  @Test func `a change between two chunks is found`() throws {
    let old = bytes(4 * FileDifference.chunkSize)
    let place = 2 * FileDifference.chunkSize
    var new = old
    new.replaceSubrange(place - 1...place, with: [old[place - 1] ^ 1, 7, 8, old[place] ^ 1])
    guard case .between(let prefix, let suffix, let middle) = try compare(new, with: old).difference
    else {
      Issue.record("the difference is not between two parts")
      return
    }
    #expect(prefix == place - 1)
    #expect(suffix == old.count - place - 1)
    #expect(middle == Array(new[place - 1..<place + 3]))
  }

  @Test func `a file of zeros is read up to its first zero`() throws {
    let size = Int64(1) << 31
    let count = Shared(0)
    var files = FileAccess.live
    let stamp = FileStamp(
      identity: FileIdentity(device: 1, inode: 1), size: size, modified: 1, changed: 1)
    files.open = { path in
      .success(
        OpenedFile(path: path, stamp: { .success(stamp) }) { offset, buffer in
          count.modify { $0 += buffer.count }
          buffer.initializeMemory(as: UInt8.self, repeating: offset == 0 ? 0x20 : 0)
          return .success(buffer.count)
        })
    }
    for known in [nil, bytes(100)] {
      guard case .whole(let read) = try FileDifference.read("/a", comparingWith: known, in: files)
      else {
        Issue.record("the file is not read as a whole")
        return
      }
      #expect(read.count == 2 * FileDifference.chunkSize)
    }
    #expect(count.value < 8 * FileDifference.chunkSize)
  }

  @Test func `a pipe is not opened, so its bytes stay for its reader`() throws {
    let directory = try TemporaryDirectory()
    let path = directory("pipe")
    try #require(mkfifo(path, 0o600) == 0)
    let hasOpened = Shared(false)
    let writer = Worker {
      let pipe = FileHandle(forWritingAtPath: path)
      hasOpened.value = true
      try? pipe?.write(contentsOf: Data("1".utf8))
    }
    for _ in 0..<100 {
      guard case .failure(let error) = FileAccess.live.open(ByteString(path)) else {
        Issue.record("a pipe was opened")
        return
      }
      #expect(error.cause == .isSpecial)
      #expect(!hasOpened.value)
    }
    let reader = try #require(FileHandle(forReadingAtPath: path))
    #expect(try reader.readToEnd() == Data("1".utf8))
    try writer.join()
  }
}
