import ArgumentParser

/// A web service that shows live lists in browsers.
@main
struct LiveService: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "LiveService", abstract: "Serves live lists to browsers.",
    subcommands: [Serve.self, Demo.self],
    defaultSubcommand: Serve.self)
}

/// Serves the lists that are named on the command line.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serves the lists that you name.",
    discussion: """
      Each list shows one source, and follows it. The first source of a list is named "original". \
      Pages can swap the list to its other sources.

        LiveService --key name --list packages=json:release.json --source packages:updated=json:updated.json

      A source is json:PATH, a file with a JSON array, or jsonl:PATH, a file with a JSON value on each line.
      """)

  @Option(
    help: ArgumentHelp("A list and its first source.", valueName: "NAME=SOURCE"),
    transform: ListArgument.init)
  var list: [ListArgument]

  @Option(
    help: ArgumentHelp("A further source of a list.", valueName: "LIST:NAME=SOURCE"),
    transform: SourceArgument.init)
  var source: [SourceArgument] = []

  @Option(
    help: ArgumentHelp(
      "The member that identifies an element, in one list or in all. Without it, the whole element does.",
      valueName: "[LIST:]MEMBER"),
    transform: KeyArgument.init)
  var key: [KeyArgument] = []

  @OptionGroup var network: NetworkOptions

  func run() async throws {
    var lists: [ServedList] = []
    for argument in list {
      let key = key.last { $0.list == argument.name } ?? key.last { $0.list == nil }
      lists.append(
        try ServedList(
          name: argument.name, key: key?.member,
          sources: [SourceArgument(list: argument.name, name: "original", argument.source)]
            + source.filter { $0.list == argument.name }))
    }
    try await Service(lists: ServedLists(lists), options: network.serviceOptions()).run()
  }

  func validate() throws {
    let names = list.map(\.name)
    if let unknown = source.first(where: { !names.contains($0.list) }) {
      throw ValidationError(
        "the source \"\(unknown.name)\" belongs to the list \"\(unknown.list)\", which is not served; "
          + "add --list \(unknown.list)=SOURCE")
    }
    if let unknown = key.compactMap(\.list).first(where: { !names.contains($0) }) {
      throw ValidationError("a key belongs to the list \"\(unknown)\", which is not served")
    }
  }
}

/// The options of the network.
struct NetworkOptions: ParsableArguments {
  @Option(help: "The address to listen on.")
  var address = "127.0.0.1"

  @Option(help: "The port to listen on. 0 chooses a free port.")
  var port = 8080

  @Option(help: "The number of event streams that can be open at the same time.")
  var maxStreams = 500

  @Option(
    help: ArgumentHelp(
      "A file with the tokens that requests can present, one on each line.", valueName: "path"))
  var bearerTokenFile: String?

  @Option(
    help: ArgumentHelp(
      "A further name under which browsers reach the service, for example behind a proxy.",
      valueName: "name"))
  var hostName: [String] = []

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port must be in 0...65535, but is \(port)")
    }
    guard maxStreams > 0 else {
      throw ValidationError("--max-streams must be at least 1, but is \(maxStreams)")
    }
  }

  /// Returns the options, and reads the file with the tokens.
  func serviceOptions() throws -> Service.Options {
    var options = Service.Options(address: address, port: port)
    options.maxStreams = maxStreams
    options.hostNames = hostName
    options.authorize = try bearerTokenFile.map(Authorization.bearerTokens(inFile:))
    return options
  }
}
