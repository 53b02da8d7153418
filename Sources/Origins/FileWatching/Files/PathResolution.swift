import SwappablePrimitives

/// The resolution of a path: the names that are watched, and the state of the file.
struct PathResolution: Sendable, Hashable {
  /// A name in a directory. If the name changes, the path may lead to another file.
  struct Place: Sendable, Hashable {
    var directory: ByteString
    var identity: FileIdentity?
    var name: ByteString
  }

  /// The places in the order of the path. Their directories contain no symbolic links.
  var places: [Place] = []
  /// The path of the file without symbolic links, or `nil` if there is no file.
  var target: ByteString?
  var state: FileState

  /// Returns a Boolean value that indicates whether another resolution needs the same watches.
  func needsSameWatches(as other: PathResolution) -> Bool {
    places == other.places && target == other.target
      && state.stamp?.identity == other.state.stamp?.identity
  }

  /// Returns a Boolean value that indicates whether the path led through the same links and directories to its last name.
  func leadsThroughSameDirectories(as other: PathResolution) -> Bool {
    if places != other.places || state.isFailed != other.state.isFailed { return false }
    let directories = [state, other.state].map { state in
      state.stamp.flatMap { $0.kind == .directory ? $0.identity : nil }
    }
    return directories[0] == directories[1]
  }

  /// Resolves a path, one name after the other.
  ///
  /// A missing name is the last place, so its creation will be noticed.
  ///
  /// - Complexity: One look-up for each name of the path, and one more for each symbolic link.
  init(absolutePath path: ByteString, in files: FileAccess) {
    // The remaining names, the next one last.
    var names = Self.reversedNames(of: path)
    var directory: ByteString = "/"
    var identity = (try? files.stamp("/").get())?.identity
    var links = 0
    state = .failed(.linkLoop(path))

    while let name = names.popLast() {
      if name == ".." {
        directory = directory.parentDirectory
        identity = (try? files.stamp(directory).get())?.identity
        continue
      }
      let next = directory.appending(name: name)
      let place = Place(directory: directory, identity: identity, name: name)
      switch files.stamp(next) {
      case .failure(let failure):
        places.append(place)
        state = failure.cause == .missing ? .missing(failure) : .failed(failure)
        return
      case .success(let stamp) where stamp.kind == .symbolicLink:
        places.append(place)
        links += 1
        guard links <= 40 else { return }
        switch files.readLink(next) {
        case .failure(let failure):
          state = failure.cause == .missing ? .missing(failure) : .failed(failure)
          return
        case .success(let destination):
          if destination.isAbsolutePath {
            directory = "/"
            identity = (try? files.stamp("/").get())?.identity
          }
          names += Self.reversedNames(of: destination)
        }
      case .success(let stamp) where names.isEmpty:
        places.append(place)
        target = next
        state = .file(stamp)
        return
      case .success(let stamp) where stamp.kind == .directory:
        directory = next
        identity = stamp.identity
      case .success:
        places.append(place)
        state = .missing(.notDirectory(next))
        return
      }
    }
    // The path ends in `..`, in `/`, or in a link to one of these.
    switch files.stamp(directory) {
    case .success(let stamp):
      target = directory
      state = .file(stamp)
    case .failure(let failure):
      state = failure.cause == .missing ? .missing(failure) : .failed(failure)
    }
  }

  private static func reversedNames(of path: ByteString) -> [ByteString] {
    path.pathNames.reversed().filter { $0 != "." }
  }
}
