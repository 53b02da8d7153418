/// Something that is about to be changed on the disk.
package enum FileStep: Sendable {
  case create(name: String)
  case write(descriptor: Int32, bytes: ArraySlice<UInt8>)
  case sync(name: String)
  case rename(name: String, to: String)
  case remove(name: String)
  case syncFolder
}

/// Asked before each step; what it returns is the error that the step fails with, 0 for none.
///
/// A test ends the world at a step by letting that step and all after it fail.
package typealias FileHook = @Sendable (FileStep) -> Int32
