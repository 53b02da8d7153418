#if !canImport(Darwin)
  extension DatabaseWatch {
    /// What follows the path of the database in the names of the files to watch.
    static let watchedSuffixes = ["", "-wal", "-journal"]
  }
#endif
