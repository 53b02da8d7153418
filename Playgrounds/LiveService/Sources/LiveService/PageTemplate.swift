import HTTPTypes
import Hummingbird

/// The page, whose script and style carry a new number in each response.
///
/// A browser runs no other script in the page.
struct PageTemplate: Sendable {
  private let parts: [Substring]

  init() {
    let page = String(decoding: PackageResources.page_html, as: UTF8.self)
    parts = page.split(separator: "{nonce}", omittingEmptySubsequences: false)
  }

  func response() -> Response {
    let nonce = (0..<4).map { _ in String(UInt32.random(in: 0...UInt32.max), radix: 36) }.joined()
    let policy = [
      "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'nonce-\(nonce)'",
      "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'",
      "frame-ancestors 'none'",
    ]
    return Response(
      status: .ok,
      headers: [
        .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
        .contentSecurityPolicy: policy.joined(separator: "; "), .xContentTypeOptions: "nosniff",
      ],
      body: ResponseBody(byteBuffer: ByteBuffer(string: parts.joined(separator: nonce))))
  }
}
