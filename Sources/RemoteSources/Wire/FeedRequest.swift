import FileSources

/// The line with which a client asks for a list.
struct FeedRequest {
  let list: String
  /// The token to resume from, or `nil` to begin with an `initial` line.
  let token: String?

  init(list: String, token: String?) {
    (self.list, self.token) = (list, token)
  }

  /// Parses a line.
  init(_ line: [UInt8]) throws(InputEventError) {
    let object: JSONElement
    do throws(JSONElement.ParsingError) {
      object = try JSONElement(parsing: line)
    } catch {
      throw InputEventError(
        "the request is not valid JSON: \(error.reason); send one line, "
          + #"such as {"list":"NAME"}"#)
    }
    let fields = try EventFields(object, of: "the request", key: nil)
    guard let list = try fields.string("list") else {
      throw InputEventError(
        #"the request has no member "list"; send one line, such as {"list":"NAME"}"#)
    }
    self.list = list
    token = try fields.string("since")
  }

  /// The line, with its line break.
  var bytes: [UInt8] {
    var bytes = Array("{\"list\":".utf8)
    JSONText.append(list, to: &bytes)
    if let token {
      bytes += Array(",\"since\":".utf8)
      JSONText.append(token, to: &bytes)
    }
    return bytes + Array("}\n".utf8)
  }
}
