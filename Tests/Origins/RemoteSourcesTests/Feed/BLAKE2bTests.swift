@testable import RemoteSources
import Testing

/// The expected digests come from the module `hashlib` of Python.
@Suite struct BLAKE2bTests {
  @Test func `the digest of abc is the example of RFC 7693`() {
    #expect(
      hexadecimal(BLAKE2b.digest(of: Array("abc".utf8)))
        == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
  }

  @Test func `no bytes have a digest`() {
    #expect(
      hexadecimal(BLAKE2b.digest(of: []))
        == "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
        + "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce")
  }

  @Test func `the digests of 0 to 300 bytes are right`() {
    var digests: [UInt8] = []
    for count in 0...300 {
      digests += BLAKE2b.digest(
        of: (0..<count).map { UInt8(truncatingIfNeeded: 7 * $0 + count) })
    }
    #expect(
      hexadecimal(BLAKE2b.digest(of: digests))
        == "37c508666a6ac79e9eb4c6d15501b2c460bfa5461083ff1c94985b3a4d677ea2"
        + "9fcef134f3b3765ded58067b3f670b17a733c24f7ea5e301880b389b260ff32a")
  }

  @Test func `digests of each length are right`() {
    let digests = (1...64).flatMap { BLAKE2b.digest(of: Array("sizes".utf8), count: $0) }
    #expect(
      hexadecimal(BLAKE2b.digest(of: digests))
        == "de13d0a9d9fd79a933e504d5a7a5843ab5286f4d923f11774a4f588200493ad1"
        + "bc390e05ccbb97753e185854569c5a9cceccb1ac5829b9c2e1dfe04212cfc0e0")
  }

  @Test func `the digest of a hundred thousand bytes is right`() {
    let bytes = (0..<100_000).map { UInt8($0 % 251) }
    #expect(
      hexadecimal(BLAKE2b.digest(of: bytes, count: 32))
        == "916cfaa800ee55811e82095babeb88ea29c9ef8a36e8d7e20c7b772c344c9e1c")
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
