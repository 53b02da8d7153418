// Without import SwiftUI: the tests compile it with stubs of SwiftUI
