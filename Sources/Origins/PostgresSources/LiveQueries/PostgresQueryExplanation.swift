import ObservableCollections
import SQLSources

/// An explanation of how a data source follows its database.
///
///     print(try await tasks.explainQuery())
///     // keyed: Triggers record the keys of changed rows, and only these rows are read. Reads item. …
public struct PostgresQueryExplanation: Sendable, Hashable {
  /// The way in which the result is kept up to date.
  public enum Mode: String, Sendable, Hashable {
    /// Only rows whose keys were written are read and moved.
    case keyed
    /// The whole query runs again after each change. Only changed rows are mapped.
    case refetch
  }

  /// The way in which changes become known.
  public enum Detection: String, Sendable, Hashable {
    /// Triggers on all tables record each commit, and the source looks for new records.
    case records
    /// The source looks for new transactions at an interval.
    case polling
  }

  /// The way in which the result is kept up to date.
  public let mode: Mode

  /// The way in which changes become known.
  public let detection: Detection

  /// The reasons for the mode and the detection, as sentences.
  public let reason: String

  /// An instruction that would make the source faster, or `nil`.
  public let suggestion: String?

  /// The tables and views that the query reads, sorted.
  public let relations: [String]

  /// The server's plan for a read of the whole result, line by line.
  public let plan: [String]

  init(_ analysis: QueryAnalysis, plan: [String]) {
    self.plan = plan
    relations = analysis.relations.filter { !$0.isAncestor }.map(\.name).sorted()
    var sentences: [String] = []
    var suggestions: [String] = []
    if let polling = analysis.polling {
      (mode, detection) = (.refetch, .polling)
      sentences = [polling.sentence, "The source looks for new transactions at an interval."]
      suggestions = [polling.suggestion]
    } else {
      detection = .records
      if case .success(let plan) = analysis.plan {
        mode = .keyed
        sentences = ["Triggers record the keys of changed rows, and only these rows are read."]
        if plan.hasTies {
          sentences.append("The primary key orders rows that ORDER BY leaves in no order.")
        }
      } else if analysis.relations.isEmpty {
        mode = .refetch
        sentences = ["The query reads no table, so no change of a table affects it."]
      } else {
        mode = .refetch
        sentences = ["Triggers record changes, and the whole result is read after each."]
      }
      if !analysis.relations.isEmpty {
        sentences.append(
          "Rows that replication writes, and changes of the schema, are found by the slow check only."
        )
      }
    }
    if mode == .refetch, case .failure(let reason) = analysis.plan {
      sentences.append(reason.sentence)
      suggestions.append(reason.suggestion)
    }
    if let instability = analysis.instability, !sentences.contains(instability) {
      sentences.append(instability)
    }
    reason = sentences.joined(separator: " ")
    suggestion = suggestions.isEmpty ? nil : suggestions.joined(separator: " ")
  }
}

extension PostgresQueryExplanation: CustomStringConvertible {
  /// The mode, the reasons, the tables and the plan, on one line.
  public var description: String {
    let tables = relations.isEmpty ? nil : "Reads \(relations.joined(separator: ", "))."
    return (["\(mode), \(detection): \(reason)", suggestion, tables].compactMap(\.self) + plan)
      .joined(separator: " ")
  }
}

extension QueryAnalysis {
  /// Remarks for the status of a data source.
  var diagnostics: [SourceStatus.Diagnostic] {
    var found: [SourceStatus.Diagnostic] = []
    if let polling {
      found.append(
        SourceStatus.Diagnostic(
          code: "polling",
          message:
            "\(polling.sentence) The source looks for new transactions at an interval. "
            + polling.suggestion))
    }
    if case .failure(let reason) = plan {
      found.append(SourceStatus.Diagnostic(code: "not-keyed", message: reason.text))
    }
    if let instability, !found.contains(where: { $0.message.hasPrefix(instability) }) {
      found.append(SourceStatus.Diagnostic(code: "unstable", message: instability))
    }
    return found
  }
}
