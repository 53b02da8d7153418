@main
struct SyncDemo {
  static func main() async {}
}
